#pragma once
// ALiBi (Press et al., arXiv 2108.12409): a bias slope * (j - i) on the score of query i and key j,
// up to what is the same for a whole row and so changes no attention.

#include <vector>

namespace poslens {

// The slope of each of `heads` heads; heads >= 1. With m the largest power of two that is no
// larger: 2^(-8h/m), h = 1..m, then 2^(-4h/m), h = 1, 3, 5, ...
std::vector<double> alibi_slopes(int heads);

}  // namespace poslens
