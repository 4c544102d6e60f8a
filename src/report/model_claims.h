#pragma once
// What the paper says of language models, measured.

#include <string>
#include <vector>

#include "poslens/reproduce.h"

namespace poslens {

// Of an estimate: whether its 95 % interval lies on the paper's side of 0.
Verdict verdict_above_zero(const Estimate& estimate);
Verdict verdict_below_zero(const Estimate& estimate);

// The claims of the abstract: RoPE and the causal mask together make scores depend on more than the
// distance (with and without the first key), and near keys score higher.
std::vector<ModelClaim> model_claims(const std::vector<LayerMeasures>& layers);

// One line for each layer and measure: layer (from 0), measure, value, standard_error, low, high of
// the 95 % interval, and the verdict where the measure has one. Unknown numbers are empty.
std::string model_measures_csv(const ModelRun& run);

}  // namespace poslens
