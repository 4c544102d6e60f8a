#include "model/ridge.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "simd/cholesky.h"

namespace poslens {
namespace {

// Means and covariances from sums of products.
class Moments {
 public:
  Moments(std::span<const double> sums, std::size_t width)
      : sums_(sums), width_(width), samples_(at(width, width)) {}

  double mean(std::size_t a) const { return at(width_, a) / samples_; }
  double target_mean() const { return at(width_ + 1, width_) / samples_; }
  double covariance(std::size_t a, std::size_t b) const {  // b <= a
    return at(a, b) / samples_ - mean(a) * mean(b);
  }
  double with_target(std::size_t a) const {
    return at(width_ + 1, a) / samples_ - target_mean() * mean(a);
  }
  double target_variance() const {
    return at(width_ + 1, width_ + 1) / samples_ - target_mean() * target_mean();
  }
  // 0 where what varies is rounding: sums of products are exact to about 1e-7 of them.
  double deviation(std::size_t a) const {
    const double variance = covariance(a, a);
    return variance > 1e-5 * at(a, a) / samples_ ? std::sqrt(variance) : 0;
  }

 private:
  double at(std::size_t a, std::size_t b) const { return sums_[triangle_size(a) + b]; }

  std::span<const double> sums_;
  std::size_t width_;
  double samples_;
};

// The weights of z itself. triangle: room for the matrix.
std::vector<double> solve(const Moments& moments, std::size_t width, double penalty,
                          std::vector<double>& triangle) {
  std::vector<double> inverse(width), mean(width), weights(width);
  for (std::size_t a = 0; a < width; ++a) {
    const double deviation = moments.deviation(a);
    inverse[a] = deviation > 0 ? 1 / deviation : 0;
    mean[a] = moments.mean(a);
    weights[a] = moments.with_target(a) * inverse[a];
  }
  triangle.resize(triangle_size(width));
  for (std::size_t a = 0, at = 0; a < width; ++a) {
    for (std::size_t b = 0; b <= a; ++b, ++at) {
      triangle[at] = moments.covariance(a, b) * inverse[a] * inverse[b];
    }
    triangle[at - 1] += penalty;
  }
  simd::solve_positive_definite(triangle, weights);
  std::transform(weights.begin(), weights.end(), inverse.begin(), weights.begin(),
                 std::multiplies<>());
  return weights;
}

// Mean square error on samples of `on` of the fit whose weights are given and whose means are those
// of `by`.
double square_error(const std::vector<double>& weights, const Moments& by, const Moments& on) {
  double error = on.target_variance();
  double offset = on.target_mean() - by.target_mean();
  for (std::size_t a = 0; a < weights.size(); ++a) {
    double product = weights[a] * on.covariance(a, a) / 2;
    for (std::size_t b = 0; b < a; ++b) product += weights[b] * on.covariance(a, b);
    error += 2 * weights[a] * (product - on.with_target(a));
    offset -= weights[a] * (on.mean(a) - by.mean(a));
  }
  return error + offset * offset;
}

}  // namespace

RidgeFit fit_ridge(std::span<const double> first, std::span<const double> second,
                   std::size_t width) {
  std::vector<double> triangle;
  const Moments by(first, width), on(second, width);
  double least = std::numeric_limits<double>::infinity();
  RidgeFit fit;
  fit.penalty = std::numeric_limits<double>::quiet_NaN();
  for (const double penalty : kRidgePenalties) {
    const double error = square_error(solve(by, width, penalty, triangle), by, on);
    if (error < least) {
      least = error;
      fit.penalty = penalty;
    }
  }
  std::vector<double> sums(first.begin(), first.end());
  std::transform(sums.begin(), sums.end(), second.begin(), sums.begin(), std::plus<>());
  const Moments all(sums, width);
  fit.weights = solve(all, width, fit.penalty, triangle);
  fit.intercept = all.target_mean();
  for (std::size_t a = 0; a < width; ++a) fit.intercept -= fit.weights[a] * all.mean(a);
  return fit;
}

std::size_t ridge_bytes(std::size_t width) { return 2 * triangle_size(width + 2) * sizeof(double); }

}  // namespace poslens
