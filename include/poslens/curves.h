#pragma once
// How mean scores go with the distance to the key and with the key's position.
//
// Every score counts minus the mean of its row over the visible keys j <= i, so that a function of
// the query alone, which changes no attention, changes no curve.

#include <cstdint>
#include <vector>

#include "poslens/estimate.h"
#include "poslens/matrix.h"
#include "poslens/score_map.h"

namespace poslens {

// Means over bins of an integer coordinate, in ascending order; bins without a visible pair are
// left out.
struct Curve {
  std::vector<std::int64_t> first;  // of the bin
  std::vector<std::int64_t> last;
  std::vector<Estimate> mean;  // in units of the score
};

struct LayerCurves {
  Curve by_distance;  // i - j >= 0
  Curve by_key;       // j, over queries i > j
};

// The last value of each bin of 0..n-1, n > 0: one value each at first, then wider in a steady
// ratio, about `bins` in all.
std::vector<std::int64_t> bin_ends(std::int64_t n, int bins = 48);

// Of a layer's mean map [n, n] and of the means of its groups of sequences. Bins are
// bin_ends(). Of a pooled map the coordinates count blocks. Standard errors
// are jackknifed over the groups, of two or more: their standard deviation / sqrt(groups).
LayerCurves curves_of(MatrixView<const float> mean,
                      const std::vector<MatrixView<const float>>& groups, int bins = 48);
// Of each layer of a map, with the groups that it holds. Layers run in parallel.
std::vector<LayerCurves> curves_of(const ScoreMap& map);

}  // namespace poslens
