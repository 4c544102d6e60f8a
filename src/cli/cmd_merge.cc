#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/simulation_options.h"
#include "poslens/atomic_file.h"

namespace poslens::cli {
namespace {

struct Options {
  std::vector<std::string> shards;
  OutputOptions output;
};

// What the run was, as this shard of it says.
SimulationOptions options_of(const std::string& path) {
  const ScoreMap map = load_score_map(path);
  try {
    if (map.source != Source::simulation) {
      throw Error("expected a simulation, found " + to_string(map.source));
    }
    return simulation_options_of(map);
  } catch (const Error& error) {
    throw Error(path + ": " + error.what());
  }
}

void run(const Options& options) {
  check_output(options.output.out, options.output.force);
  ScoreMap map = merge_shards(options_of(options.shards[0]), options.shards, load_score_map);
  map.provenance.command_line = command_line();
  save(map, options.output.out);
}

}  // namespace

void add_merge(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("merge", "Shards of one simulation -> the artefact of the whole run");
  command->footer(
      "Example:\n  poslens merge shard1.npz shard2.npz shard3.npz --out simulation.npz");
  command->add_option("shards", options->shards, "What `poslens simulate --shard i/N` wrote, all N")
      ->required()
      ->type_name("SHARD");
  add_output_options(*command, options->output);
  add_common_options(*command);
  command->callback([options] { run(*options); });
}

}  // namespace poslens::cli
