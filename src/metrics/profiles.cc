// Measures that need no fit of a space: diagonal normalisation, nearness, the first key,
// constancy.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "metrics/group_products.h"
#include "metrics/triangle.h"
#include "poslens/decomposition.h"
#include "poslens/error.h"

namespace poslens {
namespace {

// The mean of one number per group; the jackknife is then its standard error.
Estimate mean_of(const std::vector<double>& values) {
  const auto groups = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  std::vector<double> leave_one_out;
  if (values.size() >= 2) {
    for (const double value : values) leave_one_out.push_back((sum - value) / (groups - 1));
  }
  return jackknife(sum / groups, std::move(leave_one_out));
}

}  // namespace

Matrix<float> diagonal_normalised(MatrixView<const float> map) {
  const std::size_t rows = map.rows();
  const std::size_t diagonals = rows + map.columns();
  std::vector<double> sums(diagonals, 0);
  std::vector<std::size_t> counts(diagonals, 0);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < map.columns(); ++j) {
      if (!std::isfinite(map(i, j))) continue;
      sums[rows - 1 - i + j] += static_cast<double>(map(i, j));
      ++counts[rows - 1 - i + j];
    }
  }
  Matrix<float> result(rows, map.columns());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < map.columns(); ++j) {
      const std::size_t diagonal = rows - 1 - i + j;
      const double mean = sums[diagonal] / static_cast<double>(counts[diagonal]);
      result(i, j) = static_cast<float>(static_cast<double>(map(i, j)) - mean);
    }
  }
  return result;
}

Estimate nearness_slope(const std::vector<MatrixView<const float>>& groups, Support support) {
  const std::vector<MatrixView<const float>> parts = scored_part(groups, support);
  const Triangle triangle = find_triangle(parts);
  const auto n = static_cast<std::size_t>(triangle.n);
  std::vector<double> logarithm(n);
  for (std::size_t t = 0; t < n; ++t) logarithm[t] = std::log1p(static_cast<double>(t));

  double spread = 0;
  std::vector<double> products(parts.size(), 0);
  for (std::size_t i = 1; i < n; ++i) {
    const auto first = static_cast<std::size_t>(triangle.first_key(static_cast<std::int64_t>(i)));
    double mean = 0;
    for (std::size_t t = 1; t <= i - first; ++t) mean += logarithm[t];
    mean /= static_cast<double>(i - first);
    for (std::size_t t = 1; t <= i - first; ++t) {
      spread += (logarithm[t] - mean) * (logarithm[t] - mean);
    }
    for (std::size_t group = 0; group < parts.size(); ++group) {
      const std::span<const float> row = parts[group].row(i);
      for (std::size_t j = first; j < i; ++j) {
        products[group] += (logarithm[i - j] - mean) * static_cast<double>(row[j]);
      }
    }
  }
  for (double& product : products) product /= spread;
  return mean_of(products);
}

Estimate first_key_excess(const std::vector<MatrixView<const float>>& groups, Support support) {
  const std::vector<MatrixView<const float>> parts = scored_part(groups, support);
  const Triangle triangle = find_triangle(parts);
  const auto last = static_cast<std::size_t>(std::min(triangle.n, triangle.window));
  std::vector<double> excess(parts.size(), 0);
  for (std::size_t group = 0; group < parts.size(); ++group) {
    for (std::size_t i = 2; i < last; ++i) {
      const std::span<const float> row = parts[group].row(i);
      double others = 0;
      for (std::size_t j = 1; j < i; ++j) others += static_cast<double>(row[j]);
      excess[group] += static_cast<double>(row[0]) - others / static_cast<double>(i - 1);
    }
    excess[group] /= static_cast<double>(last - 2);
  }
  return mean_of(excess);
}

Estimate off_diagonal_variation(const std::vector<MatrixView<const float>>& groups,
                                Support support) {
  const std::vector<MatrixView<const float>> parts = scored_part(groups, support);
  find_triangle(parts);
  const std::size_t n = parts[0].rows();
  const auto pairs = static_cast<double>(n * (n - 1));
  std::vector<std::vector<double>> deviations(parts.size());
  for (std::size_t group = 0; group < parts.size(); ++group) {
    std::vector<double>& values = deviations[group];
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        if (i == j) continue;
        if (!std::isfinite(parts[group](i, j))) {
          throw Error(
              fmt::format("query {}, key {}: the score is {}; expected every pair off the "
                          "diagonal to be visible",
                          i, j, parts[group](i, j)));
        }
        values.push_back(static_cast<double>(parts[group](i, j)));
        sum += values.back();
      }
    }
    for (double& value : values) value -= sum / pairs;
  }
  GroupProducts products(parts.size());
  products.add([&](std::size_t group) { return std::span<const double>(deviations[group]); });
  return products.mean_square(pairs);
}

}  // namespace poslens
