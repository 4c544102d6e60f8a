#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/simulation_options.h"
#include "poslens/atomic_file.h"
#include "poslens/error.h"
#include "poslens/probe.h"

namespace poslens::cli {
namespace {

struct Options {
  std::vector<std::string> shards;
  OutputOptions output;
};

ScoreMap merge(const std::vector<std::string>& shards) {
  std::optional<SimulationOptions> simulation;
  {
    const ScoreMap first = load_score_map(shards[0]);
    try {
      if (first.source == Source::theory) {
        throw Error("expected a shard of a simulation or of a model's run, found theory");
      }
      if (first.source == Source::simulation) simulation = simulation_options_of(first);
    } catch (const Error& error) {
      throw Error(shards[0] + ": " + error.what());
    }
  }
  return simulation ? merge_shards(*simulation, shards, load_score_map)
                    : merge_probes(shards, load_score_map);
}

void run(const Options& options) {
  check_output(options.output.out, options.output.force);
  ScoreMap map = merge(options.shards);
  map.provenance.command_line = command_line();
  save(map, options.output.out);
}

}  // namespace

void add_merge(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "merge",
      "Shards of one simulation, or of one pass of a model -> the artefact of the whole run");
  command->footer("Example:\n  poslens merge shard1.npz shard2.npz shard3.npz --out map.npz");
  command
      ->add_option("shards", options->shards,
                   "What `poslens simulate` or `probe` wrote with --shard i/N, all N")
      ->required()
      ->type_name("SHARD");
  add_output_options(*command, options->output);
  add_common_options(*command);
  command->callback([options] { run(*options); });
}

}  // namespace poslens::cli
