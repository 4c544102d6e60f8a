#pragma once
// The difference of two maps: causal minus full, say, is what the mask induces.

#include "poslens/score_map.h"

namespace poslens {

// a - b, pair by pair; NaN and count 0 where either is hidden, else the smaller count. Differences
// of groups are kept when both maps have equally many; everything else but scores is left out. The
// provenance's averaging says what both were. Throws Error when n, layers or stages differ.
ScoreMap difference(const ScoreMap& a, const ScoreMap& b);

}  // namespace poslens
