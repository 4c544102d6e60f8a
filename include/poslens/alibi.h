#pragma once
// ALiBi (Press et al., arXiv 2108.12409): a bias slope * (j - i) on the score of query i and key j,
// up to what is the same for a whole row and so changes no attention.

#include <cstdint>
#include <vector>

#include "poslens/matrix.h"

namespace poslens {

// What a model adds to the score of head h and key j: factor * slope_h * j.
struct AlibiSpec {
  double factor = 1;             // Falcon's is the scale of its scores
  bool counts_from_end = false;  // j - n + 1 in place of j, as MPT
  bool rounds_to_bf16 = false;   // slope, j and slope * j, as Falcon

  bool operator==(const AlibiSpec&) const = default;
};

// The slope of each of `heads` heads; heads >= 1. With m the largest power of two that is no
// larger: 2^(-8h/m), h = 1..m, then 2^(-4h/m), h = 1, 3, 5, ...
std::vector<double> alibi_slopes(int heads);

// The bias of each head and key, [heads, n].
Matrix<float> alibi_bias(const AlibiSpec& spec, int heads, std::int64_t n);

}  // namespace poslens
