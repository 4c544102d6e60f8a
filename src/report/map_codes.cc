#include "report/map_codes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "figures/colours.h"
#include "poslens/figure.h"

namespace poslens {
namespace {

constexpr double kTail = 12;
constexpr double kCore = 230;
constexpr std::uint8_t kMissing = 255;

// Where value lies between from (0) and to (steps).
double step_of(double value, double from, double to, double steps) {
  return to > from ? steps * (value - from) / (to - from) : 0;
}

std::uint8_t code_of(const MapCodes& map, float value) {
  if (!std::isfinite(value)) return kMissing;
  double code = 0;
  if (value < map.range_low) {
    code = step_of(value, map.low, map.range_low, kTail);
  } else if (value <= map.range_high) {
    code = kTail + step_of(value, map.range_low, map.range_high, kCore);
  } else {
    code = kTail + kCore + step_of(value, map.range_high, map.high, kTail);
  }
  return static_cast<std::uint8_t>(std::lround(std::clamp(code, 0.0, 2 * kTail + kCore)));
}

bool hides_later_keys(MatrixView<const float> map) {
  for (std::size_t i = 0; i < map.rows(); ++i) {
    for (std::size_t j = i + 1; j < map.columns(); ++j) {
      if (std::isfinite(map(i, j))) return false;
    }
  }
  return true;
}

}  // namespace

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
  for (std::size_t i = 0; i < map.rows(); ++i) {
    const std::size_t last = result.triangle ? std::min(i + 1, map.columns()) : map.columns();
    for (std::size_t j = 0; j < last; ++j) result.codes.push_back(code_of(result, map(i, j)));
  }
  return result;
}

double decode_value(const MapCodes& map, std::uint8_t code) {
  if (code == kMissing) return std::numeric_limits<double>::quiet_NaN();
  if (code < kTail) return map.low + (map.range_low - map.low) * code / kTail;
  if (code <= kTail + kCore) {
    return map.range_low + (map.range_high - map.range_low) * (code - kTail) / kCore;
  }
  return map.range_high + (map.high - map.range_high) * (code - kTail - kCore) / kTail;
}

std::string base64(const std::vector<std::uint8_t>& bytes) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t left = std::min<std::size_t>(3, bytes.size() - at);
    unsigned group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < left ? bytes[at + k] : 0U);
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= left ? digits[group >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return text;
}

}  // namespace poslens
