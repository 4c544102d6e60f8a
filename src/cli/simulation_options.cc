#include "cli/simulation_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/options.h"
#include "poslens/error.h"

namespace poslens::cli {

void add_simulation_options(CLI::App& command, SimulationOptions& options) {
  add_parameter_free_options(command, options.spec);
  add_number(command, "--samples", options.samples, "Samples");
  add_number(command, "--seed", options.seed, "Seed of the random inputs");
  command
      .add_option_function<std::string>(
          "--engine", [&options](const std::string& text) { options.engine = parse_engine(text); },
          "auto, triangular (no rotary encoding, and masks that hide later keys) or dense (default "
          "auto)")
      ->type_name("ENGINE");
  command.add_flag("--variance", options.variance, "Keep the variance of every score");
  command.add_flag("--probs", options.probs, "Keep the mean attention probabilities");
  command.add_flag("--recency", options.recency,
                   "Keep each layer's recency probability: of S(i,k) > S(i,j), i > k > j");
  command.add_flag("--monotonicity", options.monotonicity,
                   "Keep each layer's share of rows (of single samples) whose scores increase "
                   "strictly with the key, up to the query");
  command.add_flag("--hidden-geometry", options.hidden_geometry,
                   "Keep mean norms and cosines of the residual stream by position, before the "
                   "first layer and after each");
  add_number(command, "--readout", options.readout,
             "Fit positions of queries to their scores by layer, on N samples, and keep how well "
             "that tells them in N others; 0: no such fit");
  add_number(command, "--readout-keys", options.readout_keys,
             "The fit reads the scores with keys 0 to K-1 of the queries from K on; 0: half of "
             "--n, at most 64");
  add_number(command, "--groups", options.groups,
             "Keep means of G interleaved groups of samples (sample s in group s mod G); 0: none");
}

SimulationOptions simulation_options_of(const ScoreMap& map) {
  CLI::App app;
  SimulationOptions options;
  add_simulation_options(app, options);
  const Provenance& provenance = map.provenance;
  std::vector<std::string> arguments = {"--seed=" + std::to_string(provenance.seed),
                                        "--engine=" + provenance.engine};
  for (const auto& [name, value] : provenance.options) {
    if (name != "shard") arguments.push_back(fmt::format("--{}={}", name, value));
  }
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
  try {
    app.parse(arguments);
    options.validate();
  } catch (const CLI::ParseError& error) {
    throw Error(std::string("expected the options of a simulation: ") + error.what());
  } catch (const UsageError& error) {
    throw Error(std::string("expected the options of a simulation: ") + error.what());
  }
  return options;
}

}  // namespace poslens::cli
