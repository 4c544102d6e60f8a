#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/simulation_options.h"
#include "poslens/atomic_file.h"

namespace poslens::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  SimulationOptions simulation;
  RunCheckpoint checkpoint;
  OutputOptions output;
};

// Also what a run that was killed while writing it left beside it (see write_atomically).
void remove_checkpoint(const fs::path& file) {
  const std::string name = file.filename().string();
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string found = entry.path().filename().string();
    if (found == name || found.starts_with(name + ".tmp")) left.push_back(entry.path());
  }
  for (const fs::path& path : left) fs::remove(path);
}

void run(Options& options) {
  options.simulation.validate();
  RunCheckpoint& checkpoint = options.checkpoint;
  if (!(checkpoint.interval >= 0)) {
    throw UsageError(
        fmt::format("--checkpoint {}: expected seconds, at least 0", checkpoint.interval));
  }
  check_output(options.output.out, options.output.force);
  checkpoint.file = options.output.out;
  checkpoint.file += ".partial";
  if (!checkpoint.resume && !options.output.force && fs::exists(checkpoint.file)) {
    throw Error(checkpoint.file.string() +
                ": is of an interrupted run; --resume goes on with it, --force starts again");
  }
  ScoreMap map = simulate(options.simulation, checkpoint);
  map.provenance.command_line = command_line();
  save(map, options.output.out);
  remove_checkpoint(checkpoint.file);
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
  command
      ->add_option_function<std::string>(
          "--shard",
          [&simulation](const std::string& text) { simulation.shard = Shard::parse(text); },
          "Run part i of N alone, i from 1; `poslens merge` joins all parts to what one run gives")
      ->type_name("i/N");
  command->add_flag("--resume", options->checkpoint.resume,
                    "Go on from PATH.partial, which an interrupted run left, where it exists");
  add_number(*command, "--checkpoint", options->checkpoint.interval,
             "Seconds, at least, between writing PATH.partial");
  add_output_options(*command, options->output);
  add_common_options(*command);
  command->callback([options] { run(*options); });
}

}  // namespace poslens::cli
