#include "report/over_layers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace poslens {
namespace {

Spread spread_of(const CellResult& result, Decomposition LayerMeasures::*keys,
                 Estimate Decomposition::*measure) {
  std::vector<double> values;
  for (const LayerMeasures& layer : result.layers) {
    if (has_signal(layer.*keys)) values.push_back((layer.*keys.*measure).value);
  }
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  if (values.empty()) return {0, unknown, unknown, unknown};
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {values.size(), median, values.front(), values.back()};
}

}  // namespace

bool has_signal(const Decomposition& decomposition) {
  const Estimate& total = decomposition.total;
  const double error = std::isfinite(total.standard_error) ? total.standard_error : 0;
  return std::isfinite(total.value) && total.value > 2 * error;
}

std::vector<std::pair<std::string, Spread>> spreads_over_layers(const CellResult& result) {
  constexpr auto without = &LayerMeasures::without_first_key;
  return {{"total_without_first_key", spread_of(result, without, &Decomposition::total)},
          {"nonrelative_share_without_first_key",
           spread_of(result, without, &Decomposition::nonrelative_share)},
          {"nonrelative_share",
           spread_of(result, &LayerMeasures::all_keys, &Decomposition::nonrelative_share)}};
}

std::pair<std::int64_t, std::int64_t> sample_range(const ScoreMap& map) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (const std::int64_t count : map.count) {
    if (count == 0) continue;
    low = low == 0 ? count : std::min(low, count);
    high = std::max(high, count);
  }
  return {low, high};
}

}  // namespace poslens
