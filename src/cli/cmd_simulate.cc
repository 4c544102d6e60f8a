#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "poslens/atomic_file.h"
#include "poslens/simulation.h"

namespace poslens::cli {

void add_simulate(CLI::App& app) {
  struct Options {
    SimulationOptions simulation;
    OutputOptions output;
  };
  const auto options = std::make_shared<Options>();
  SimulationOptions& simulation = options->simulation;
  CLI::App* command =
      app.add_subcommand("simulate", "Monte Carlo of the parameter-free Transformer -> artefact");
  command->footer(
      "Example:\n  poslens simulate --n 50 --dim 64 --layers 4 --samples 100000 --alpha 0.2 "
      "--out simulation.npz");
  add_parameter_free_options(*command, simulation.spec);
  add_number(*command, "--samples", simulation.samples, "Samples");
  add_number(*command, "--seed", simulation.seed, "Seed of the random inputs");
  command
      ->add_option_function<std::string>(
          "--engine",
          [&simulation](const std::string& text) { simulation.engine = parse_engine(text); },
          "auto, triangular (no rotary encoding; causal or window mask) or dense (default auto)")
      ->type_name("ENGINE");
  command->add_flag("--variance", simulation.variance, "Keep the variance of every score");
  command->add_flag("--probs", simulation.probs, "Keep the mean attention probabilities");
  command->add_flag("--recency", simulation.recency,
                    "Keep each layer's recency probability: of S(i,k) > S(i,j), i > k > j");
  add_number(*command, "--groups", simulation.groups,
             "Keep means of G interleaved groups of samples (sample s in group s mod G); 0: none");
  add_output_options(*command, options->output);
  add_common_options(*command);
  command->callback([options] {
    options->simulation.validate();
    check_output(options->output.out, options->output.force);
    ScoreMap map = simulate(options->simulation);
    map.provenance.command_line = command_line();
    save(map, options->output.out);
  });
}

}  // namespace poslens::cli
