#pragma once
// Maps made of a formula and noise.

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "poslens/matrix.h"
#include "poslens/random.h"

namespace poslens {

using Formula = std::function<double(double i, double j)>;

// formula(i, j) where 0 < i - j < window, NaN elsewhere.
inline Matrix<float> make_map(std::size_t n, const Formula& formula,
                              std::size_t window = SIZE_MAX) {
  Matrix<float> map(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const bool visible = j < i && i - j < window;
      map(i, j) = visible
                      ? static_cast<float>(formula(static_cast<double>(i), static_cast<double>(j)))
                      : std::numeric_limits<float>::quiet_NaN();
    }
  }
  return map;
}

inline std::vector<MatrixView<const float>> views(const std::vector<Matrix<float>>& maps) {
  std::vector<MatrixView<const float>> result;
  result.reserve(maps.size());
  for (const Matrix<float>& map : maps) result.push_back(map.view());
  return result;
}

// formula plus independent normal noise in each of the groups.
inline std::vector<Matrix<float>> noisy_groups(std::size_t n, std::size_t groups, double noise,
                                               RandomStream& random, const Formula& formula,
                                               std::size_t window = SIZE_MAX) {
  std::vector<Matrix<float>> maps;
  for (std::size_t group = 0; group < groups; ++group) {
    maps.push_back(make_map(
        n, [&](double i, double j) { return formula(i, j) + noise * random.normal(); }, window));
  }
  return maps;
}

}  // namespace poslens
