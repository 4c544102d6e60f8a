#include "poslens/alibi.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace poslens {
namespace {

// Rounds to nearest even; finite values only.
float rounded_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u);
}

}  // namespace

std::vector<double> alibi_slopes(int heads) {
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(heads)));
  std::vector<double> slopes;
  for (int h = 1; h <= power; ++h) slopes.push_back(std::exp2(-8.0 * h / power));
  for (int h = 1; power + (h + 1) / 2 <= heads; h += 2) {
    slopes.push_back(std::exp2(-4.0 * h / power));
  }
  return slopes;
}

Matrix<float> alibi_bias(const AlibiSpec& spec, int heads, std::int64_t n) {
  Matrix<float> bias(static_cast<std::size_t>(heads), static_cast<std::size_t>(n));
  const std::vector<double> slopes = alibi_slopes(heads);
  const auto rounded = [&](float value) {
    return spec.rounds_to_bf16 ? rounded_to_bf16(value) : value;
  };
  for (std::size_t h = 0; h < bias.rows(); ++h) {
    const float slope = rounded(static_cast<float>(slopes[h]));
    for (std::int64_t j = 0; j < n; ++j) {
      const auto place = static_cast<float>(spec.counts_from_end ? j - n + 1 : j);
      bias(h, static_cast<std::size_t>(j)) =
          static_cast<float>(spec.factor * double{rounded(slope * rounded(place))});
    }
  }
  return bias;
}

}  // namespace poslens
