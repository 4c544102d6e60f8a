#include "report/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/published.h"

namespace poslens {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Published values are known to 0.002 and noisy by 0.001; at 64 dimensions the large-dim limit is
// further off.
constexpr double kSimulationTolerance = 0.008;
constexpr double kMeanFieldTolerance = 0.04;

constexpr double kPublishedRecencyTolerance = 0.0006;
constexpr double kPublishedRecencySamples = 1e7;
constexpr double kStandardErrors = 4;

// The largest standard error of a mean in this layer; NaN without variances.
double largest_standard_error(const ScoreMap& map, std::size_t place) {
  if (map.variance.empty()) return kNone;
  double largest = 0;
  for (std::size_t k = 0; k < map.count.size(); ++k) {
    if (map.count[k] == 0) continue;
    const double variance = map.variance[place * map.count.size() + k];
    largest = std::max(largest, std::sqrt(variance / static_cast<double>(map.count[k])));
  }
  return largest;
}

// At most; see recency_tolerance().
double recency_standard_error(double probability, std::int64_t samples) {
  return std::sqrt(probability * (1 - probability) / static_cast<double>(samples));
}

// The scores of a layer as what others are compared with.
PublishedPanel visible_scores(const ScoreMap& map, std::size_t place) {
  PublishedPanel panel;
  const MatrixView<const float> scores = map.layer(place);
  for (std::int64_t query = 0; query < map.n; ++query) {
    for (std::int64_t key = 0; key < map.n; ++key) {
      if (map.count[static_cast<std::size_t>(query * map.n + key)] == 0) continue;
      panel.scores.push_back(
          {query, key, scores(static_cast<std::size_t>(query), static_cast<std::size_t>(key))});
    }
  }
  return panel;
}

}  // namespace

std::vector<Comparison> compare_with_published(const PaperFigure& figure, const PaperRow& row,
                                               const ScoreMap& map) {
  std::vector<Comparison> comparisons;
  if (figure.published.empty()) return comparisons;
  const std::vector<PublishedPanel> published = parse_published(figure.published, figure.name);
  const bool simulated = map.source == Source::simulation;
  for (std::size_t place = 0; place < map.layers.size(); ++place) {
    const PublishedPanel& panel = find_panel(published, panel_name(row, map.layers[place]));
    comparisons.push_back({.figure = figure.name,
                           .panel = panel.name,
                           .quantity = Quantity::scores,
                           .route = simulated ? "simulation" : "mean field",
                           .reference = "published",
                           .values = std::ssize(panel.scores),
                           .value = kNone,
                           .largest_deviation = largest_deviation(panel, map.layer(place)),
                           .tolerance = simulated ? kSimulationTolerance : kMeanFieldTolerance,
                           .standard_error = largest_standard_error(map, place)});
  }
  return comparisons;
}

std::vector<Comparison> compare_with_mean_field(const PaperFigure& figure, const PaperRow& row,
                                                const ScoreMap& simulated,
                                                const ScoreMap& mean_field) {
  std::vector<Comparison> comparisons;
  for (std::size_t place = 0; place < simulated.layers.size(); ++place) {
    const int layer = simulated.layers[place];
    const PublishedPanel expected = visible_scores(mean_field, mean_field.place_of(layer));
    const double error = largest_standard_error(simulated, place);
    comparisons.push_back(
        {.figure = figure.name,
         .panel = panel_name(row, layer),
         .quantity = Quantity::scores,
         .route = "simulation",
         .reference = "mean field",
         .values = std::ssize(expected.scores),
         .value = kNone,
         .largest_deviation = largest_deviation(expected, simulated.layer(place)),
         .tolerance = finite_width_tolerance(row.spec, layer) + kStandardErrors * error,
         .standard_error = error});
  }
  return comparisons;
}

std::vector<Comparison> compare_recency(const PaperFigure& figure, const PaperRow& row,
                                        const ScoreMap& simulated) {
  const std::vector<PublishedRecency> published =
      parse_published_recency(figure.published_recency, figure.name);
  const std::int64_t samples = simulated.count.front();
  std::vector<Comparison> comparisons;
  for (std::size_t place = 0; place < simulated.layers.size(); ++place) {
    Comparison comparison = {.figure = figure.name,
                             .panel = panel_name(row, simulated.layers[place]),
                             .quantity = Quantity::recency,
                             .route = "simulation",
                             .reference = "",
                             .values = 1,
                             .value = simulated.recency.at(place),
                             .largest_deviation = kNone,
                             .tolerance = kNone,
                             .standard_error = kNone};
    comparison.standard_error = recency_standard_error(comparison.value, samples);
    const auto known =
        std::find_if(published.begin(), published.end(),
                     [&](const PublishedRecency& p) { return p.panel == comparison.panel; });
    if (known != published.end()) {
      comparison.reference = "published";
      comparison.largest_deviation = std::abs(comparison.value - known->recency);
      comparison.tolerance = recency_tolerance(known->recency, samples);
    } else if (simulated.layers[place] == 0) {
      comparison.reference = "exact";
      comparison.largest_deviation = std::abs(comparison.value - 0.5);
      comparison.tolerance = kStandardErrors * recency_standard_error(0.5, samples);
    }
    comparisons.push_back(std::move(comparison));
  }
  return comparisons;
}

double finite_width_tolerance(const ParameterFreeSpec& spec, int layer) {
  const double dim = spec.dim;
  const bool wide = spec.norm == Norm::layernorm || spec.norm == Norm::rmsnorm;
  const double square = wide                      ? dim
                        : spec.norm == Norm::none ? spec.input_norm * spec.input_norm
                                                  : 1;  // |y|^2
  const double own = spec.scale() * square;
  return layer == 0 ? own / dim : own / std::sqrt(dim);
}

double recency_tolerance(double published, std::int64_t samples) {
  const double lost = 1 / static_cast<double>(samples) - 1 / kPublishedRecencySamples;
  return kPublishedRecencyTolerance +
         kStandardErrors * std::sqrt(published * (1 - published) * std::max(0.0, lost));
}

}  // namespace poslens
