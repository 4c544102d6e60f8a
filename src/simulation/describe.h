#pragma once
// What a part of a run is as an artefact.

#include <optional>
#include <string>

#include "simulation/part.h"

namespace poslens {

// The options of a run, or of a shard of it, in the artefact's words.
Provenance provenance(const SimulationOptions& options);

// A part's means and what they are.
ScoreMap describe(const Plan& plan, const Part& part);

// The text of the artefact's option `shard`; none for a whole run.
std::optional<std::string> shard_of(const ScoreMap& map);

}  // namespace poslens
