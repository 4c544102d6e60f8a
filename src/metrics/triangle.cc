#include "metrics/triangle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "poslens/error.h"

namespace poslens {

std::int64_t Triangle::pairs() const {
  const std::int64_t full = std::min(window, n) - 1;  // rows before this have all keys
  return full * (full + 1) / 2 + (n - 1 - full) * full;
}

std::vector<MatrixView<const float>> scored_part(const std::vector<MatrixView<const float>>& groups,
                                                 Support support) {
  std::vector<MatrixView<const float>> parts;
  for (const MatrixView<const float>& map : groups) {
    const auto first = static_cast<std::size_t>(support.first_key);
    if (map.rows() < first + 4) {
      throw Error(fmt::format("expected at least {} positions, found {}", first + 4, map.rows()));
    }
    parts.emplace_back(map.data() + first * map.stride() + first, map.rows() - first,
                       map.columns() - first, map.stride());
  }
  return parts;
}

Triangle find_triangle(const std::vector<MatrixView<const float>>& groups) {
  if (groups.empty()) throw Error("expected at least one map, found none");
  const std::size_t n = groups[0].rows();
  for (const MatrixView<const float>& map : groups) {
    if (map.rows() != n || map.columns() != n) {
      throw Error("expected square maps of one size");
    }
  }
  const std::span<const float> last = groups[0].row(n - 1).first(n - 1);
  const auto visible =
      std::find_if(last.begin(), last.end(), [](float x) { return !std::isnan(x); });
  Triangle triangle;
  triangle.n = static_cast<std::int64_t>(n);
  triangle.window = last.end() - visible + 1;
  if (triangle.window < 3) {
    throw Error(fmt::format("the last query sees {} earlier keys; at least 2 are needed",
                            triangle.window - 1));
  }
  for (const MatrixView<const float>& map : groups) {
    for (std::int64_t i = 1; i < triangle.n; ++i) {
      const std::int64_t first = triangle.first_key(i);
      const std::span<const float> row = map.row(static_cast<std::size_t>(i));
      for (std::int64_t j = 0; j < i; ++j) {
        const float score = row[static_cast<std::size_t>(j)];
        if (j < first ? std::isnan(score) : std::isfinite(score)) continue;
        throw Error(fmt::format(
            "query {}, key {}: the score is {} though the last query sees {} earlier keys; "
            "expected all keys before a query, or a window of them, to be visible",
            i, j, score, triangle.window - 1));
      }
    }
  }
  return triangle;
}

MarginalSums marginal_sums(MatrixView<const float> map, const Triangle& triangle) {
  const auto n = static_cast<std::size_t>(triangle.n);
  MarginalSums sums;
  sums.row_means.assign(n, 0);
  sums.keys.assign(n, 0);
  std::vector<double> backwards(n, 0);  // element n - 1 - t: so that both run with j
  for (std::size_t i = 1; i < n; ++i) {
    const auto first = static_cast<std::size_t>(triangle.first_key(static_cast<std::int64_t>(i)));
    const std::span<const float> row = map.row(i);
    double sum = 0;
    for (std::size_t j = first; j < i; ++j) sum += static_cast<double>(row[j]);
    const double mean = sum / static_cast<double>(i - first);
    sums.row_means[i] = mean;
    for (std::size_t j = first; j < i; ++j) {
      const double value = static_cast<double>(row[j]) - mean;
      sums.keys[j] += value;
      backwards[n - 1 - i + j] += value;
      sums.squares += value * value;
    }
  }
  sums.diagonals.assign(backwards.rbegin(), backwards.rend());
  return sums;
}

}  // namespace poslens
