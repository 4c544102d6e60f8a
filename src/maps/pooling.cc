#include "poslens/pooling.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace poslens {

std::size_t block_for(std::size_t extent, std::size_t limit) {
  return std::max<std::size_t>(1, (extent + limit - 1) / limit);
}

Matrix<float> pool_mean(MatrixView<const float> map, std::size_t block) {
  Matrix<float> pooled((map.rows() + block - 1) / block, (map.columns() + block - 1) / block);
  for (std::size_t row = 0; row < pooled.rows(); ++row) {
    const std::size_t last_row = std::min(map.rows(), (row + 1) * block);
    for (std::size_t column = 0; column < pooled.columns(); ++column) {
      const std::size_t last_column = std::min(map.columns(), (column + 1) * block);
      double sum = 0;
      std::size_t finite = 0;
      for (std::size_t i = row * block; i < last_row; ++i) {
        for (std::size_t j = column * block; j < last_column; ++j) {
          if (!std::isfinite(map(i, j))) continue;
          sum += map(i, j);
          ++finite;
        }
      }
      pooled(row, column) = finite == 0 ? std::numeric_limits<float>::quiet_NaN()
                                        : static_cast<float>(sum / static_cast<double>(finite));
    }
  }
  return pooled;
}

}  // namespace poslens
