#pragma once
// A readable decoder in double precision, one sequence and one loop at a time: what the fast one is
// compared with. It keeps every score, so it is for small inputs.

#include <vector>

#include "poslens/checkpoint.h"
#include "poslens/decoder.h"
#include "poslens/model_spec.h"

namespace poslens {

struct ReferenceResult {
  // Scores and probabilities of [layer][sequence][head], each [n, n] row by row. Every pair has a
  // score; hidden pairs have probability 0.
  std::vector<std::vector<std::vector<std::vector<double>>>> scores;
  std::vector<std::vector<std::vector<std::vector<double>>>> probabilities;
  // The residual stream, [sequence][layers + 1][n][hidden]: what enters layer 0, then what leaves
  // each layer.
  std::vector<std::vector<std::vector<std::vector<double>>>> hidden;
  // Cross entropy of the next token, [sequence][n - 1].
  std::vector<std::vector<double>> loss;
};

ReferenceResult run_reference(const Checkpoint& checkpoint, const ModelSpec& spec,
                              const TokenBatch& batch);

}  // namespace poslens
