// Palettes and colour ranges.
#include "figures/colours.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "poslens/error.h"
#include "poslens/figure.h"

namespace poslens {
namespace {

// Evenly spaced control points, linear in between.
constexpr std::array<unsigned, 8> kRocket = {0x04051a, 0x35193e, 0x701f57, 0xad1759,
                                             0xe13342, 0xf37651, 0xf6b48f, 0xfaebdd};
constexpr std::array<unsigned, 11> kViridis = {0x440154, 0x482475, 0x414487, 0x355f8d,
                                               0x2a788e, 0x21918c, 0x22a884, 0x44bf70,
                                               0x7ad151, 0xbddf26, 0xfde725};
constexpr std::array<unsigned, 11> kCividis = {0x00224e, 0x083370, 0x35456c, 0x4f576c,
                                               0x666970, 0x7d7c78, 0x948e77, 0xaea371,
                                               0xc8b866, 0xe5cf52, 0xfee838};
constexpr std::array<unsigned, 2> kGrey = {0x111111, 0xf4f4f4};
constexpr std::array<unsigned, 7> kDiverging = {0x1f4e8c, 0x4a8bc2, 0xa5cbe3, 0xf7f5f2,
                                                0xf2b8a2, 0xd9624f, 0x96202d};
constexpr std::array<unsigned, 11> kPurpleOrange = {0x2d004b, 0x532687, 0x8073ac, 0xb1aad1,
                                                    0xd8daeb, 0xf6f6f7, 0xfee0b6, 0xfcb761,
                                                    0xe08214, 0xb25706, 0x7f3b08};

struct NamedPalette {
  Palette palette;
  const char* name;
  std::span<const unsigned> points;
  bool diverging;
};

constexpr std::array<NamedPalette, 6> kPalettes = {
    {{Palette::rocket, "rocket", kRocket, false},
     {Palette::viridis, "viridis", kViridis, false},
     {Palette::cividis, "cividis", kCividis, false},
     {Palette::grey, "grey", kGrey, false},
     {Palette::diverging, "diverging", kDiverging, true},
     {Palette::purple_orange, "purple-orange", kPurpleOrange, true}}};

const NamedPalette& named(Palette palette) {
  return *std::find_if(kPalettes.begin(), kPalettes.end(),
                       [&](const NamedPalette& entry) { return entry.palette == palette; });
}

unsigned mix(unsigned from, unsigned to, double weight) {
  unsigned colour = 0;
  for (int shift = 16; shift >= 0; shift -= 8) {
    const double a = from >> shift & 0xffU;
    const double b = to >> shift & 0xffU;
    colour |= static_cast<unsigned>(std::lround(a + (b - a) * weight)) << shift;
  }
  return colour;
}

void add_finite(MatrixView<const float> values, std::vector<float>& finite) {
  for (std::size_t i = 0; i < values.rows(); ++i) {
    for (const float value : values.row(i)) {
      if (std::isfinite(value)) finite.push_back(value);
    }
  }
}

double quantile_of(std::vector<float>& finite, double q) {
  if (finite.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double place = std::clamp(q, 0.0, 1.0) * static_cast<double>(finite.size() - 1);
  const auto below = finite.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(finite.begin(), below, finite.end());
  if (below + 1 == finite.end()) return *below;
  const double next = *std::min_element(below + 1, finite.end());
  return *below + (next - *below) * (place - std::floor(place));
}

std::pair<double, double> range_of(std::vector<float>& finite, const FigureOptions& options) {
  const bool diverging = is_diverging(options.palette);
  if (finite.empty()) return {diverging ? -1 : 0, 1};
  double low = quantile_of(finite, options.quantiles.first);
  double high = quantile_of(finite, options.quantiles.second);
  if (diverging) {
    high = std::max(std::abs(low), std::abs(high));
    low = -high;
  }
  if (low < high) return {low, high};
  const double margin = low == 0 ? 1 : std::abs(low) / 2;  // all values alike
  return {low - margin, low + margin};
}

}  // namespace

std::string to_string(Palette palette) { return named(palette).name; }

Palette parse_palette(std::string_view text) {
  std::string names;
  for (const NamedPalette& entry : kPalettes) {
    if (entry.name == text) return entry.palette;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
  }
  throw UsageError(fmt::format("--palette {}: expected one of {}", text, names));
}

bool is_diverging(Palette palette) { return named(palette).diverging; }

std::span<const unsigned> control_points(Palette palette) { return named(palette).points; }

unsigned palette_colour(Palette palette, double x) {
  const std::span<const unsigned> points = control_points(palette);
  const double place = std::clamp(x, 0.0, 1.0) * static_cast<double>(points.size() - 1);
  const auto left = std::min(static_cast<std::size_t>(place), points.size() - 2);
  return mix(points[left], points[left + 1], place - static_cast<double>(left));
}

double luminance(Palette palette, double x) {
  const unsigned colour = palette_colour(palette, x);
  return (0.2126 * (colour >> 16 & 0xffU) + 0.7152 * (colour >> 8 & 0xffU) +
          0.0722 * (colour & 0xffU)) /
         255;
}

double quantile(MatrixView<const float> values, double q) {
  std::vector<float> finite;
  add_finite(values, finite);
  return quantile_of(finite, q);
}

std::pair<double, double> colour_range(MatrixView<const float> values) {
  std::vector<float> finite;
  add_finite(values, finite);
  return range_of(finite, {});
}

std::vector<std::pair<double, double>> colour_ranges(const std::vector<Panel>& panels,
                                                     const FigureOptions& options) {
  std::vector<std::pair<double, double>> ranges;
  std::vector<float> finite;
  if (options.shared_scale) {
    for (const Panel& panel : panels) {
      if (!panel.range) add_finite(panel.values.view(), finite);
    }
    const std::pair<double, double> shared = range_of(finite, options);
    for (const Panel& panel : panels) ranges.push_back(panel.range.value_or(shared));
    return ranges;
  }
  for (const Panel& panel : panels) {
    finite.clear();
    if (!panel.range) add_finite(panel.values.view(), finite);
    ranges.push_back(panel.range ? *panel.range : range_of(finite, options));
  }
  return ranges;
}

}  // namespace poslens
