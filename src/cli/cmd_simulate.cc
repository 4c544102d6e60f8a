#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/part_options.h"
#include "cli/simulation_options.h"

namespace poslens::cli {
namespace {

struct Options {
  SimulationOptions simulation;
  RunCheckpoint checkpoint;
  OutputOptions output;
};

void run(Options& options) {
  options.simulation.validate();
  prepare_checkpoint(options.checkpoint, options.output);
  ScoreMap map = simulate(options.simulation, options.checkpoint);
  map.provenance.command_line = command_line();
  save(map, options.output.out);
  remove_checkpoint(options.checkpoint);
}

}  // namespace

void add_simulate(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  SimulationOptions& simulation = options->simulation;
  CLI::App* command =
      app.add_subcommand("simulate", "Monte Carlo of the parameter-free Transformer -> artefact");
  command->footer(
      "Example:\n  poslens simulate --n 50 --dim 64 --layers 4 --samples 100000 --alpha 0.2 "
      "--out simulation.npz");
  add_simulation_options(*command, simulation);
  add_part_options(*command, simulation.shard, options->checkpoint);
  add_output_options(*command, options->output);
  add_common_options(*command);
  command->callback([options] { run(*options); });
}

}  // namespace poslens::cli
