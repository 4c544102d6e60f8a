#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/measure_tables.h"
#include "cli/model_options.h"
#include "cli/options.h"
#include "poslens/measures.h"
#include "report/measures_file.h"
#include "report/position_file.h"

namespace poslens::cli {
namespace {

struct Options {
  std::vector<std::filesystem::path> maps;
  std::vector<std::string> subjects;
  bool all = false;
  bool heads = false;
  bool json = false;
};

// Tables beside the first one.
std::string tables(const Options& options, const std::vector<LayerMeasures>& layers,
                   const std::vector<std::vector<LayerMeasures>>& heads,
                   const PositionDecoding& position) {
  if (!options.all && options.subjects.empty() && !options.heads) {
    const std::string table = position_table(position);
    return measures_table(layers) + (table.empty() ? "" : "\n") + table;
  }
  std::string text = "without the first key in the second line of each layer\n";
  std::vector<std::string> subjects = options.subjects;
  if (options.all) subjects = measure_subjects();
  if (subjects.empty()) subjects = {"decomposition"};
  for (const std::string& subject : subjects) {
    const std::string table = subject == kPositionSubject ? position_table(position)
                                                          : subject_table(subject, layers, heads);
    text +=
        fmt::format("\n{}\n{}", subject,
                    table.empty() ? "     unknown: see docs/metrics.md, what each needs\n" : table);
  }
  return text;
}

void run(const Options& options) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const std::filesystem::path& path : options.maps) {
    const ScoreMap map = load_score_map(path);
    std::vector<LayerMeasures> layers;
    std::vector<std::vector<LayerMeasures>> heads;
    PositionDecoding position;
    try {
      layers = measure(map);
      position = position_decoding(map);
      if (options.json || options.heads) heads = measure_heads(map);
      if (options.heads && heads.empty()) {
        throw Error("expected scores_heads (`poslens probe --per-head`), found none");
      }
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
                      {"position", position_json(position)},
                      {"layers", all_measures_json(layers, heads)}});
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
        tables(options, layers, heads, position));
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
  command->footer(
      "Example:\n  poslens metrics baseline.npz no-rope.npz --json\n"
      "  poslens metrics heads.npz --measures first-key,rollout --heads");
  command->add_option("map", options->maps, "Artefacts")->required()->type_name("MAP...");
  command
      ->add_option(
          "--measures", options->subjects,
          fmt::format("Tables, separated by commas (default: {})", measure_subjects().front()))
      ->delimiter(',')
      ->check(CLI::IsMember(measure_subjects()))
      ->type_name("NAME,...");
  command->add_flag("--all", options->all, "All tables")->excludes("--measures");
  command->add_flag("--heads", options->heads, "Lines for each head, of maps that kept them");
  command->add_flag(
      "--json", options->json,
      "JSON of everything in place of tables: also by position, and heads where kept");
  add_common_options(*command);
  command->callback([options] { run(*options); });
}

}  // namespace poslens::cli
