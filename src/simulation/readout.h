#pragma once
// How well the position of a query can be told from its scores in one sample: by layer, a ridge fit
// of the position i to the scores S_i0 .. S_i,K-1 of queries i = K .. n-1, made on some samples and
// tested on others. All these queries see all these keys, and none of them is its own key, so that
// neither the number of scores nor a score of a query with itself tells the position.
//
// The fit: i is close to a + b . s for a row's scores s, with the least mean square error plus
// lambda |b|^2, lambda 1e-4 of the mean variance of a score.

#include <cstdint>
#include <vector>

#include "simulation/plan.h"

namespace poslens {

struct Readout {
  std::vector<double> r2;     // [layers] 1 - mean square error / variance of the positions
  std::vector<double> error;  // [layers] mean absolute error, in positions
};

// K: readout_keys, or half of n up to 64.
std::int64_t readout_key_count(const SimulationOptions& options);

// Throws UsageError naming the option, the value and what is allowed.
void validate_readout(const SimulationOptions& options);

// Bytes that read_out takes, at most, for the plan of the same run.
std::int64_t readout_bytes(const Plan& plan, int threads);

// Fits samples 0 .. N-1 and tests N .. 2 N-1, N = options.readout. The same bits for any thread
// count. Throws Error when a score is not finite. options: validated.
Readout read_out(const SimulationOptions& options);

}  // namespace poslens
