#pragma once
// What the layers of a cell have in common: those whose position signal can be told from zero.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "poslens/analysis.h"

namespace poslens {

// False when the position signal of a layer cannot be told from zero: within two standard errors.
// Shares of it are then ratios of noise.
bool has_signal(const Decomposition& decomposition);

// Of one measure; NaN when no layer has a signal.
struct Spread {
  std::size_t layers = 0;  // with a signal
  double median, smallest, largest;
};

// "total_without_first_key", "nonrelative_share_without_first_key" and "nonrelative_share", each
// over the layers with a signal of the same keys.
std::vector<std::pair<std::string, Spread>> spreads_over_layers(const CellResult& result);

// Smallest and largest number of samples behind the pairs that are not hidden; zeros when all are.
std::pair<std::int64_t, std::int64_t> sample_range(const ScoreMap& map);

}  // namespace poslens
