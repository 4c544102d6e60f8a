#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/options.h"
#include "poslens/measures.h"
#include "report/measures_file.h"

namespace poslens::cli {
namespace {

struct Options {
  std::vector<std::filesystem::path> maps;
  bool json = false;
};

void run(const Options& options) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const std::filesystem::path& path : options.maps) {
    const ScoreMap map = load_score_map(path);
    std::vector<LayerMeasures> layers;
    try {
      layers = measure(map);
    } catch (const Error& error) {
      throw Error(path.string() + ": " + error.what());
    }
    if (options.json) {
      list.push_back({{"map", path.string()},
                      {"source", to_string(map.source)},
                      {"stage", to_string(map.stage)},
                      {"n", map.n},
                      {"pool", map.pool},
                      {"changes", map.provenance.changes},
                      {"groups", map.groups},
                      {"layers", layers_json(layers)}});
      continue;
    }
    const std::string extent = map.pool > 1
                                   ? fmt::format("{} blocks of {} positions", map.n, map.pool)
                                   : fmt::format("n {}", map.n);
    std::cout << fmt::format(
        "{}: {} map, stage {}, {}{}, {}\n{}\n", path.string(), to_string(map.source),
        to_string(map.stage), extent, changes_in_words(map.provenance),
        map.groups > 1 ? fmt::format("{} groups of samples", map.groups)
                       : "no groups of samples: sampling noise counts as signal",
        measures_table(layers));
  }
  if (options.json) {
    std::cout << list.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
  }
}

}  // namespace

void add_metrics(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("metrics", "How much of a map is relative, layer by layer");
  command->footer("Example:\n  poslens metrics baseline.npz no-rope.npz --json");
  command->add_option("map", options->maps, "Artefacts")->required()->type_name("MAP...");
  command->add_flag("--json", options->json, "JSON in place of tables");
  add_common_options(*command);
  command->callback([options] { run(*options); });
}

}  // namespace poslens::cli
