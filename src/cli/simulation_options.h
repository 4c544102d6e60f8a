#pragma once
// The options that say what a simulation is: `simulate` takes them, and `merge` finds them in
// shards.

#include <CLI/CLI.hpp>

#include "poslens/simulation.h"

namespace poslens::cli {

// Those of ParameterFreeSpec, and --samples --seed --engine --variance --probs --recency
// --monotonicity --hidden-geometry --readout --readout-keys --groups.
void add_simulation_options(CLI::App& command, SimulationOptions& options);

// The options of the run that an artefact comes from, without its shard. Throws Error when they are
// none that this program takes.
SimulationOptions simulation_options_of(const ScoreMap& map);

}  // namespace poslens::cli
