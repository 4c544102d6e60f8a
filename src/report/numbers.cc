#include "report/numbers.h"

#include <fmt/format.h>

#include <cmath>

namespace poslens {

nlohmann::ordered_json json_number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return value;
}

std::string csv_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.9g}", value) : std::string();
}

std::string csv_estimate(const Estimate& estimate) {
  const Interval interval = confidence_interval(estimate);
  return fmt::format("{},{},{},{}", csv_number(estimate.value), csv_number(estimate.standard_error),
                     csv_number(interval.low), csv_number(interval.high));
}

}  // namespace poslens
