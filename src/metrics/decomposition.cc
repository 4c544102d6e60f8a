#include "poslens/decomposition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "metrics/group_products.h"
#include "metrics/triangle.h"

namespace poslens {
namespace {

constexpr std::array kFitted = {Space::relative, Space::key, Space::both};

// Row by row residuals of one map: element 0 after g, then after each space of kFitted.
class Residuals {
 public:
  Residuals(MatrixView<const float> map, const Triangle& triangle, const LeastSquares& solver,
            const MarginalSums& sums)
      : map_(map), triangle_(triangle), row_means_(sums.row_means) {
    for (std::size_t k = 0; k < kFitted.size(); ++k) {
      fits_[k] = solver.fit(sums, kFitted[k]);
      // Backwards, so that diagonals run along with keys.
      std::reverse(fits_[k].relative.begin(), fits_[k].relative.end());
    }
  }

  // Residuals of row i at keys first_key(i)..i-1.
  void row(std::size_t i, std::array<std::vector<double>, 1 + kFitted.size()>& out) const {
    const std::size_t first = first_key(i);
    const std::size_t keys = i - first;
    const float* scores = map_.row(i).data() + first;
    for (std::vector<double>& values : out) values.resize(keys);
    for (std::size_t j = 0; j < keys; ++j) {
      out[0][j] = static_cast<double>(scores[j]) - row_means_[i];
    }
    for (std::size_t k = 0; k < kFitted.size(); ++k) {
      const double* f = fits_[k].relative.data() + (map_.rows() - 1 - i) + first;
      const double* h = fits_[k].key.data() + first;
      const double offset = fits_[k].offset[i];
      for (std::size_t j = 0; j < keys; ++j) out[1 + k][j] = out[0][j] - (f[j] + h[j] - offset);
    }
  }

 private:
  std::size_t first_key(std::size_t i) const {
    return static_cast<std::size_t>(triangle_.first_key(static_cast<std::int64_t>(i)));
  }

  MatrixView<const float> map_;
  Triangle triangle_;
  std::vector<double> row_means_;
  std::array<Fit, kFitted.size()> fits_;
};

// Mean square of what single precision rounds off scores: a total below it is no signal.
double rounding(const std::vector<MatrixView<const float>>& maps, const Triangle& triangle) {
  double largest = 0;
  for (const MatrixView<const float>& map : maps) {
    const std::span<const float> last = map.row(map.rows() - 1);
    for (auto j = triangle.first_key(triangle.n - 1); j + 1 < triangle.n; ++j) {
      largest = std::max(largest, std::abs(static_cast<double>(last[static_cast<std::size_t>(j)])));
    }
  }
  return std::pow(largest * 0x1p-24, 2);
}

// Sums of squares without row functions, from the centred ones: a row's mean adds its square for
// each of its pairs, and taking a diagonal's mean off subtracts its square for each of them.
void add_plain_sums(const std::vector<MarginalSums>& sums, const Triangle& triangle,
                    Decomposition& result) {
  const auto n = static_cast<std::size_t>(triangle.n);
  const auto pairs = static_cast<double>(triangle.pairs());
  std::vector<std::vector<double>> rows(sums.size(), std::vector<double>(n, 0));
  std::vector<std::vector<double>> diagonals = rows;
  for (std::size_t group = 0; group < sums.size(); ++group) {
    const auto keys = [&](std::size_t i) {
      const auto row = static_cast<std::int64_t>(i);
      return static_cast<double>(row - triangle.first_key(row));
    };
    double mean = 0;
    for (std::size_t i = 1; i < n; ++i) mean += keys(i) * sums[group].row_means[i] / pairs;
    double later_rows = 0;  // row means, less the map's, of the rows that diagonal t meets
    for (std::size_t t = n - 1; t > 0; --t) {
      const double row = sums[group].row_means[t] - mean;
      rows[group][t] = std::sqrt(keys(t)) * row;
      later_rows += row;
      if (t >= static_cast<std::size_t>(triangle.window)) continue;
      diagonals[group][t] =
          (sums[group].diagonals[t] + later_rows) / std::sqrt(static_cast<double>(n - t));
    }
  }
  const auto mean_square = [&](const std::vector<std::vector<double>>& values) {
    GroupProducts products(values.size());
    products.add([&](std::size_t group) { return std::span<const double>(values[group]); });
    return products.mean_square(pairs);
  };
  const Estimate of_rows = mean_square(rows);
  const Estimate of_diagonals = mean_square(diagonals);
  result.variance =
      combine({&result.total, &of_rows}, [](std::span<const double> of) { return of[0] + of[1]; });
  result.diagonal_normalised = combine({&result.variance, &of_diagonals},
                                       [](std::span<const double> of) { return of[0] - of[1]; });
}

}  // namespace

Decomposition decompose(const std::vector<MatrixView<const float>>& groups, Support support) {
  const std::vector<MatrixView<const float>> parts = scored_part(groups, support);
  const Triangle triangle = find_triangle(parts);
  const LeastSquares solver(triangle);
  std::vector<Residuals> residuals;
  std::vector<MarginalSums> sums;
  residuals.reserve(parts.size());
  sums.reserve(parts.size());
  for (const MatrixView<const float>& part : parts) {
    sums.push_back(marginal_sums(part, triangle));
    residuals.emplace_back(part, triangle, solver, sums.back());
  }

  constexpr std::size_t kSpaces = 1 + kFitted.size();
  std::vector<GroupProducts> products(kSpaces, GroupProducts(parts.size()));
  std::vector<std::array<std::vector<double>, kSpaces>> rows(parts.size());
  for (std::size_t i = 1; i < static_cast<std::size_t>(triangle.n); ++i) {
    for (std::size_t group = 0; group < parts.size(); ++group) {
      residuals[group].row(i, rows[group]);
    }
    for (std::size_t space = 0; space < kSpaces; ++space) {
      products[space].add([&](std::size_t group) { return std::span(rows[group][space]); });
    }
  }
  const auto pairs = static_cast<double>(triangle.pairs());
  Decomposition result;
  result.total = products[0].mean_square(pairs);
  result.nonrelative = products[1].mean_square(pairs);
  result.nonkey = products[2].mean_square(pairs);
  result.remainder = products[3].mean_square(pairs);
  add_plain_sums(sums, triangle, result);
  const double least = rounding(parts, triangle);
  const auto share_of = [&](const Estimate& part, const Estimate& whole) {
    return whole.value > least ? ratio(part, whole)
                               : Estimate{std::numeric_limits<double>::quiet_NaN()};
  };
  const auto share = [&](const Estimate& part) { return share_of(part, result.total); };
  result.nonrelative_share = share(result.nonrelative);
  result.nonkey_share = share(result.nonkey);
  result.remainder_share = share(result.remainder);
  result.diagonal_normalised_share = share_of(result.diagonal_normalised, result.variance);
  return result;
}

Matrix<float> nonrelative_residual(MatrixView<const float> map, Support support) {
  const MatrixView<const float> part = scored_part({map}, support)[0];
  const Triangle triangle = find_triangle({part});
  const LeastSquares solver(triangle);
  const MarginalSums sums = marginal_sums(part, triangle);
  const Fit fit = solver.fit(sums, Space::relative);
  Matrix<float> result(map.rows(), map.columns());
  result.values().assign(result.values().size(), std::numeric_limits<float>::quiet_NaN());
  const auto origin = static_cast<std::size_t>(support.first_key);
  for (std::size_t i = 1; i < part.rows(); ++i) {
    const auto first = static_cast<std::size_t>(triangle.first_key(static_cast<std::int64_t>(i)));
    for (std::size_t j = first; j < i; ++j) {
      const double fitted = sums.row_means[i] + fit.relative[i - j] - fit.offset[i];
      result(origin + i, origin + j) = static_cast<float>(static_cast<double>(part(i, j)) - fitted);
    }
  }
  return result;
}

std::vector<std::pair<std::string, const Estimate*>> named_estimates(const Decomposition& parts) {
  return {{"total", &parts.total},
          {"nonrelative", &parts.nonrelative},
          {"nonkey", &parts.nonkey},
          {"remainder", &parts.remainder},
          {"nonrelative_share", &parts.nonrelative_share},
          {"nonkey_share", &parts.nonkey_share},
          {"remainder_share", &parts.remainder_share},
          {"variance", &parts.variance},
          {"diagonal_normalised", &parts.diagonal_normalised},
          {"diagonal_normalised_share", &parts.diagonal_normalised_share}};
}

}  // namespace poslens
