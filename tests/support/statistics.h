#pragma once
// Statistics that tests of random numbers need.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

namespace poslens::test {

struct Moments {
  double mean = 0;
  double variance = 0;
  double skewness = 0;
  double kurtosis = 0;  // 3 for a normal distribution
};

inline Moments moments(std::span<const float> values) {
  const auto count = static_cast<double>(values.size());
  double mean = 0;
  for (const float x : values) mean += x;
  mean /= count;
  double second = 0, third = 0, fourth = 0;
  for (const float x : values) {
    const double y = x - mean;
    second += y * y;
    third += y * y * y;
    fourth += y * y * y * y;
  }
  second /= count;
  return {mean, second, third / count / std::pow(second, 1.5), fourth / count / (second * second)};
}

// Kolmogorov-Smirnov statistic sqrt(N) sup |F_N - F|; above 2.23 with probability 1e-4.
template <typename Distribution>
double kolmogorov_smirnov(std::vector<float> values, const Distribution& distribution) {
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double f = distribution(double{values[i]});
    largest = std::max(
        {largest, f - static_cast<double>(i) / count, static_cast<double>(i + 1) / count - f});
  }
  return std::sqrt(count) * largest;
}

inline double normal_distribution(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

// Regularised lower incomplete gamma function P(a, x), by its series below a + 1 and its continued
// fraction (Lentz) above.
inline double gamma_distribution(double a, double x) {
  if (x <= 0) return 0;
  const double factor = std::exp(a * std::log(x) - x - std::lgamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (double k = a + 1; term > 1e-16 * sum; ++k) {
      term *= x / k;
      sum += term;
    }
    return sum * factor;
  }
  double b = x + 1 - a, c = 1e300, d = 1 / b, fraction = d;
  for (int i = 1; i < 100000; ++i) {
    const double numerator = -i * (i - a);
    b += 2;
    d = 1 / (numerator * d + b);
    c = b + numerator / c;
    fraction *= d * c;
    if (std::abs(d * c - 1) < 1e-15) break;
  }
  return 1 - factor * fraction;
}

inline double chi_distribution(int dof, double x) {
  return x <= 0 ? 0 : gamma_distribution(dof / 2.0, x * x / 2);
}

inline double correlation(std::span<const float> a, std::span<const float> b) {
  const Moments of_a = moments(a), of_b = moments(b);
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - of_a.mean) * (b[i] - of_b.mean);
  return sum / static_cast<double>(a.size()) / std::sqrt(of_a.variance * of_b.variance);
}

}  // namespace poslens::test
