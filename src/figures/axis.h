#pragma once
// Round numbers for axes.

#include <vector>

namespace poslens {

// The multiples of 1, 2 or 5 times a power of ten in [low, high], about `wanted` of them.
// low < high, both finite.
std::vector<double> round_ticks(double low, double high, int wanted);

}  // namespace poslens
