#pragma once
// Coarser maps for pictures.

#include <cstddef>

#include "poslens/matrix.h"

namespace poslens {

// Means of the finite values of block x block tiles; NaN where a tile has none. The last row and
// column of tiles may be cut short: ceil(rows / block) x ceil(columns / block) values. block >= 1.
Matrix<float> pool_mean(MatrixView<const float> map, std::size_t block);

// The smallest block with which `extent` values become at most `limit`, limit >= 1.
std::size_t block_for(std::size_t extent, std::size_t limit);

}  // namespace poslens
