#pragma once
// What a part of a run is as an artefact.

#include "simulation/part.h"

namespace poslens {

// The options of a run, or of a shard of it, in the artefact's words.
Provenance provenance(const SimulationOptions& options);

// A part's means and what they are.
ScoreMap describe(const Plan& plan, const Part& part);

}  // namespace poslens
