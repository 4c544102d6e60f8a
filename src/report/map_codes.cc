#include "report/map_codes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "figures/colours.h"
#include "poslens/figure.h"

namespace poslens {
namespace {

constexpr double kTail = 1023;
constexpr double kCore = 2048;
constexpr unsigned kMissing = 4095;
constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Where value lies between from (0) and to (steps).
double step_of(double value, double from, double to, double steps) {
  return to > from ? steps * (value - from) / (to - from) : 0;
}

unsigned code_of(const MapCodes& map, float value) {
  if (!std::isfinite(value)) return kMissing;
  double code = 0;
  if (value < map.range_low) {
    code = step_of(value, map.low, map.range_low, kTail);
  } else if (value <= map.range_high) {
    code = kTail + step_of(value, map.range_low, map.range_high, kCore);
  } else {
    code = kTail + kCore + step_of(value, map.range_high, map.high, kTail);
  }
  return static_cast<unsigned>(std::lround(std::clamp(code, 0.0, 2 * kTail + kCore)));
}

}  // namespace

bool hides_later_keys(MatrixView<const float> map) {
  for (std::size_t i = 0; i < map.rows(); ++i) {
    for (std::size_t j = i + 1; j < map.columns(); ++j) {
      if (std::isfinite(map(i, j))) return false;
    }
  }
  return true;
}

std::size_t code_count(std::size_t side, bool triangle) {
  return triangle ? triangle_size(side) : side * side;
}

MapCodes encode_map(MatrixView<const float> map) {
  MapCodes result;
  const auto [range_low, range_high] = colour_range(map);
  result.range_low = range_low;
  result.range_high = range_high;
  const double low = quantile(map, 0);
  const double high = quantile(map, 1);
  result.low = std::isnan(low) ? range_low : std::min(low, range_low);
  result.high = std::isnan(high) ? range_high : std::max(high, range_high);
  result.triangle = hides_later_keys(map);
  result.codes.reserve(2 * code_count(map.rows(), result.triangle));
  for (std::size_t i = 0; i < map.rows(); ++i) {
    const std::size_t last = result.triangle ? std::min(i + 1, map.columns()) : map.columns();
    for (std::size_t j = 0; j < last; ++j) {
      const unsigned code = code_of(result, map(i, j));
      result.codes += kDigits[code >> 6U];
      result.codes += kDigits[code & 63U];
    }
  }
  return result;
}

double decode_value(const MapCodes& map, std::size_t place) {
  const std::size_t code =
      kDigits.find(map.codes.at(2 * place)) * 64 + kDigits.find(map.codes.at(2 * place + 1));
  if (code == kMissing) return std::numeric_limits<double>::quiet_NaN();
  const auto step = static_cast<double>(code);
  if (step < kTail) return map.low + (map.range_low - map.low) * step / kTail;
  if (step <= kTail + kCore) {
    return map.range_low + (map.range_high - map.range_low) * (step - kTail) / kCore;
  }
  return map.range_high + (map.high - map.range_high) * (step - kTail - kCore) / kTail;
}

}  // namespace poslens
