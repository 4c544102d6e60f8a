#include "poslens/rotary.h"

#include <cmath>

namespace poslens {

std::vector<double> inverse_frequencies(const RotarySpec& spec) {
  const auto pairs = static_cast<std::size_t>(spec.rotary_dim / 2);
  std::vector<double> inverse(pairs);
  for (std::size_t k = 0; k < pairs; ++k) {
    const double exponent = -2.0 * static_cast<double>(k) / spec.rotary_dim;
    const double divisor = spec.divisors.empty() ? 1.0 : double{spec.divisors[k]};
    inverse[k] = std::pow(spec.theta, exponent) / (spec.linear_factor * divisor);
  }
  return inverse;
}

RotaryTable rotary_table(const RotarySpec& spec, std::int64_t first_position, std::int64_t n) {
  const std::vector<double> inverse = inverse_frequencies(spec);
  const auto rows = static_cast<std::size_t>(n);
  RotaryTable table{Matrix<float>(rows, inverse.size()), Matrix<float>(rows, inverse.size())};
  for (std::size_t p = 0; p < rows; ++p) {
    const auto position = static_cast<float>(first_position + static_cast<std::int64_t>(p));
    for (std::size_t k = 0; k < inverse.size(); ++k) {
      const double angle = double{position * static_cast<float>(inverse[k])};
      table.cosine(p, k) = static_cast<float>(std::cos(angle) * spec.attention_factor);
      table.sine(p, k) = static_cast<float>(std::sin(angle) * spec.attention_factor);
    }
  }
  return table;
}

double rotary_mean_factor(const RotarySpec& spec, int dim, std::int64_t offset) {
  double sum = 0;
  for (const double inverse : inverse_frequencies(spec)) {
    sum += std::cos(static_cast<double>(offset) * inverse);
  }
  return (2 * spec.attention_factor * spec.attention_factor * sum + dim - spec.rotary_dim) / dim;
}

}  // namespace poslens
