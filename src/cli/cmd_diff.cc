#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "poslens/atomic_file.h"
#include "poslens/difference.h"

namespace poslens::cli {
namespace {

struct Options {
  std::filesystem::path a;
  std::filesystem::path b;
  OutputOptions output;
};

void run(const Options& options) {
  check_output(options.output.out, options.output.force);
  const ScoreMap a = load_score_map(options.a);
  const ScoreMap b = load_score_map(options.b);
  ScoreMap map;
  try {
    map = difference(a, b);
  } catch (const Error& error) {
    throw Error(options.a.string() + " and " + options.b.string() + ": " + error.what());
  }
  map.provenance.options = {{"a", options.a.string()}, {"b", options.b.string()}};
  map.provenance.command_line = command_line();
  save(map, options.output.out);
}

}  // namespace

void add_diff(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("diff", "Difference of two maps, A - B -> artefact");
  command->footer("Example:\n  poslens diff causal.npz full.npz --out mask.npz");
  command->add_option("a", options->a, "Artefact A")->required()->type_name("A");
  command->add_option("b", options->b, "Artefact B, of the same positions and layers")
      ->required()
      ->type_name("B");
  add_output_options(*command, options->output);
  add_common_options(*command);
  command->callback([options] { run(*options); });
}

}  // namespace poslens::cli
