#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <vector>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/simulation_options.h"
#include "poslens/atomic_file.h"

namespace poslens::cli {
namespace {

struct Options {
  std::vector<std::filesystem::path> shards;
  OutputOptions output;
};

void run(const Options& options) {
  check_output(options.output.out, options.output.force);
  std::vector<NamedMap> shards;
  for (const auto& path : options.shards) shards.push_back({path.string(), load_score_map(path)});
  SimulationOptions simulation;
  try {
    if (shards[0].map.source != Source::simulation) {
      throw Error("expected a simulation, found " + to_string(shards[0].map.source));
    }
    simulation = simulation_options_of(shards[0].map);
  } catch (const Error& error) {
    throw Error(shards[0].name + ": " + error.what());
  }
  ScoreMap map = merge_shards(simulation, shards);
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
