#pragma once
// The conclusion of an analysis in plain words, by rules on its numbers and their standard errors.

#include "poslens/analysis.h"

namespace poslens {

// value > 2 standard errors; false when the error is unknown.
bool beyond_noise(const Estimate& estimate);

// Fills findings and answer from the cells. Sums run over all layers; ranges over the layers whose
// total is beyond noise in the model as it is.
void conclude(Analysis& analysis);

}  // namespace poslens
