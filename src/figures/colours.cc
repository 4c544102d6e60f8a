// Palettes and colour ranges.
#include "figures/colours.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "poslens/figure.h"

namespace poslens {
namespace {

// Evenly spaced control points, linear in between.
constexpr std::array<unsigned, 8> kRocket = {0x04051a, 0x35193e, 0x701f57, 0xad1759,
                                             0xe13342, 0xf37651, 0xf6b48f, 0xfaebdd};
constexpr std::array<unsigned, 7> kDiverging = {0x1f4e8c, 0x4a8bc2, 0xa5cbe3, 0xf7f5f2,
                                                0xf2b8a2, 0xd9624f, 0x96202d};

unsigned mix(unsigned from, unsigned to, double weight) {
  unsigned colour = 0;
  for (int shift = 16; shift >= 0; shift -= 8) {
    const double a = from >> shift & 0xffU;
    const double b = to >> shift & 0xffU;
    colour |= static_cast<unsigned>(std::lround(a + (b - a) * weight)) << shift;
  }
  return colour;
}

}  // namespace

std::span<const unsigned> control_points(Palette palette) {
  if (palette == Palette::rocket) return kRocket;
  return kDiverging;
}

unsigned palette_colour(Palette palette, double x) {
  const std::span<const unsigned> points = control_points(palette);
  const double place = std::clamp(x, 0.0, 1.0) * static_cast<double>(points.size() - 1);
  const auto left = std::min(static_cast<std::size_t>(place), points.size() - 2);
  return mix(points[left], points[left + 1], place - static_cast<double>(left));
}

double quantile(MatrixView<const float> values, double q) {
  std::vector<float> finite;
  for (std::size_t i = 0; i < values.rows(); ++i) {
    for (const float value : values.row(i)) {
      if (std::isfinite(value)) finite.push_back(value);
    }
  }
  if (finite.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double place = std::clamp(q, 0.0, 1.0) * static_cast<double>(finite.size() - 1);
  const auto below = finite.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(finite.begin(), below, finite.end());
  if (below + 1 == finite.end()) return *below;
  const double next = *std::min_element(below + 1, finite.end());
  return *below + (next - *below) * (place - std::floor(place));
}

std::pair<double, double> colour_range(MatrixView<const float> values) {
  const double low = quantile(values, 0.01);
  const double high = quantile(values, 0.99);
  if (std::isnan(low)) return {0, 1};
  if (low < high) return {low, high};
  const double margin = low == 0 ? 1 : std::abs(low) / 2;  // all values alike
  return {low - margin, low + margin};
}

}  // namespace poslens
