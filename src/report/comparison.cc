#include "report/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/published.h"

namespace poslens {
namespace {

// Published values are known to 0.002 and noisy by 0.001; at 64 dimensions the large-dim limit is
// further off.
constexpr double kSimulationTolerance = 0.008;
constexpr double kMeanFieldTolerance = 0.04;

// The largest standard error of a mean in this layer; NaN without variances.
double largest_standard_error(const ScoreMap& map, std::size_t place) {
  if (map.variance.empty()) return std::numeric_limits<double>::quiet_NaN();
  double largest = 0;
  for (std::size_t k = 0; k < map.count.size(); ++k) {
    if (map.count[k] == 0) continue;
    const double variance = map.variance[place * map.count.size() + k];
    largest = std::max(largest, std::sqrt(variance / static_cast<double>(map.count[k])));
  }
  return largest;
}

}  // namespace

std::vector<Comparison> compare(const PaperFigure& figure, const PaperRow& row,
                                const ScoreMap& map) {
  std::vector<Comparison> comparisons;
  if (figure.published.empty()) return comparisons;
  const std::vector<PublishedPanel> published = parse_published(figure.published, figure.name);
  const bool simulated = map.source == Source::simulation;
  for (std::size_t place = 0; place < map.layers.size(); ++place) {
    const PublishedPanel& panel = find_panel(published, panel_name(row, map.layers[place]));
    comparisons.push_back({.figure = figure.name,
                           .panel = panel.name,
                           .route = simulated ? "simulation" : "mean field",
                           .pairs = std::ssize(panel.scores),
                           .largest_deviation = largest_deviation(panel, map.layer(place)),
                           .tolerance = simulated ? kSimulationTolerance : kMeanFieldTolerance,
                           .standard_error = largest_standard_error(map, place)});
  }
  return comparisons;
}

}  // namespace poslens
