#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "metrics/triangle.h"

namespace poslens {
namespace {

// sums[k] = the sum of values[0..k-1]; one element more than values.
std::vector<double> prefix_sums(std::span<const double> values) {
  std::vector<double> sums(values.size() + 1, 0);
  std::partial_sum(values.begin(), values.end(), sums.begin() + 1);
  return sums;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

LeastSquares::LeastSquares(const Triangle& triangle)
    : triangle_(triangle), diagonal_(2 * static_cast<std::size_t>(triangle.n), 0) {
  // A coefficient's own entry: the number of its pairs, less what row centring takes, 1 / (keys of
  // the row) for each pair.
  const auto n = static_cast<std::size_t>(triangle.n);
  for (std::int64_t i = 1; i < triangle.n; ++i) {
    const std::int64_t first = triangle.first_key(i);
    const double weight = 1 - 1 / static_cast<double>(i - first);
    for (std::int64_t j = first; j < i; ++j) {
      diagonal_[static_cast<std::size_t>(i - j)] += weight;
      diagonal_[n + static_cast<std::size_t>(j)] += weight;
    }
  }
}

std::vector<double> LeastSquares::row_means(const std::vector<double>& x) const {
  const auto n = static_cast<std::size_t>(triangle_.n);
  const std::vector<double> f = prefix_sums(std::span(x).first(n));
  const std::vector<double> h = prefix_sums(std::span(x).last(n));
  std::vector<double> means(n, 0);
  for (std::size_t i = 1; i < n; ++i) {
    const auto first = static_cast<std::size_t>(triangle_.first_key(static_cast<std::int64_t>(i)));
    const std::size_t keys = i - first;
    means[i] = (f[keys + 1] - f[1] + h[i] - h[first]) / static_cast<double>(keys);
  }
  return means;
}

void LeastSquares::apply(const std::vector<double>& x, std::vector<double>& result) const {
  const auto n = static_cast<std::size_t>(triangle_.n);
  const auto window = static_cast<std::size_t>(triangle_.window);
  const std::vector<double> f = prefix_sums(std::span(x).first(n));
  const std::vector<double> h = prefix_sums(std::span(x).last(n));
  const std::vector<double> m = prefix_sums(row_means(x));
  // Diagonal t meets rows t..n-1, that is keys 0..n-1-t.
  for (std::size_t t = 1; t < window; ++t) {
    result[t] = static_cast<double>(n - t) * x[t] + h[n - t] - (m[n] - m[t]);
  }
  // Key j meets rows j+1..last, that is diagonals 1..last-j.
  for (std::size_t j = 0; j + 1 < n; ++j) {
    const std::size_t last = std::min(n, j + window) - 1;
    result[n + j] = static_cast<double>(last - j) * x[n + j] + f[last - j + 1] - f[1] -
                    (m[last + 1] - m[j + 1]);
  }
}

Fit LeastSquares::fit(const MarginalSums& sums, Space space) const {
  const auto n = static_cast<std::size_t>(triangle_.n);
  // Jacobi preconditioner; zero keeps a coefficient out of the fit.
  std::vector<double> inverse(2 * n, 0);
  for (std::size_t k = 0; k < 2 * n; ++k) {
    const bool used = space == Space::both || space == (k < n ? Space::relative : Space::key);
    if (used && diagonal_[k] > 0) inverse[k] = 1 / diagonal_[k];
  }
  std::vector<double> residual = sums.diagonals;
  residual.insert(residual.end(), sums.keys.begin(), sums.keys.end());

  std::vector<double> x(2 * n, 0);
  std::vector<double> scaled(2 * n);
  std::vector<double> image(2 * n, 0);
  const auto precondition = [&] {
    std::transform(residual.begin(), residual.end(), inverse.begin(), scaled.begin(),
                   std::multiplies<>());
    return dot(residual, scaled);
  };
  double size = precondition();
  std::vector<double> direction = scaled;
  // What is left of the equations, against the map's size: a sum of squares is then off by less
  // than its rounding.
  const double goal = 1e-24 * sums.squares;
  for (std::size_t step = 0; size > goal; ++step) {
    if (step > 10 * n + 100) throw std::logic_error("least squares: no convergence");
    apply(direction, image);
    const double length = size / dot(direction, image);
    for (std::size_t k = 0; k < 2 * n; ++k) {
      x[k] += length * direction[k];
      residual[k] -= length * image[k];
    }
    const double previous = size;
    size = precondition();
    const double turn = size / previous;
    for (std::size_t k = 0; k < 2 * n; ++k) direction[k] = scaled[k] + turn * direction[k];
  }
  Fit fit;
  fit.offset = row_means(x);
  fit.relative.assign(x.begin(), x.begin() + triangle_.n);
  fit.key.assign(x.begin() + triangle_.n, x.end());
  return fit;
}

}  // namespace poslens
