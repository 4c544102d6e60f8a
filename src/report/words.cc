#include "report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace poslens {
namespace {

// Two figures of the standard error; without one, three of the value.
int decimals(double value, double error) {
  const bool known = std::isfinite(error) && error > 0;
  const double size = known ? error : std::abs(value);
  if (!(size > 0) || !std::isfinite(size)) return 0;
  const int figures = known ? 2 : 3;
  return std::max(0, figures - 1 - static_cast<int>(std::floor(std::log10(size))));
}

std::string format(double value, double error, int most_decimals) {
  const int places = std::min(decimals(value, error), most_decimals);
  const double rounded = std::abs(value) < 0.5 * std::pow(10, -places) ? 0.0 : value;  // no -0
  if (!std::isfinite(error)) return fmt::format("{:.{}f}", rounded, places);
  return fmt::format("{:.{}f} ± {:.{}f}", rounded, places, error, places);
}

}  // namespace

std::string percent(const Estimate& share) {
  if (!std::isfinite(share.value)) return "unknown";
  return format(100 * share.value, 100 * share.standard_error, 4) + " %";
}

std::string with_error(const Estimate& estimate) {
  if (!std::isfinite(estimate.value)) return "unknown";
  if (!std::isfinite(estimate.standard_error)) return fmt::format("{:.3g}", estimate.value);
  return format(estimate.value, estimate.standard_error, 9);
}

std::string plain_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       c == '.' || c == '-';
    name += plain ? c : '_';
  }
  return name.empty() ? "map" : name;
}

}  // namespace poslens
