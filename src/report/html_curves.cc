#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "report/html_chart.h"
#include "report/html_parts.h"

namespace poslens {
namespace {

const Estimate kNothing{std::numeric_limits<double>::quiet_NaN()};

// What a chart shows of one layer; kNothing where it means nothing.
using Reading = std::function<Estimate(const LayerMeasures&)>;

Chart by_layer(const Analysis& analysis, std::string title, ChartScale scale,
               const Reading& reading) {
  Chart chart{.title = std::move(title), .scale = scale, .places = {}, .lines = {}};
  for (const LayerMeasures& layer : analysis.cells.front().layers) {
    chart.places.push_back(layer.layer);
  }
  for (std::size_t index = 0; index < analysis.cells.size(); ++index) {
    ChartLine line{.title = analysis.cells[index].cell.title, .colour = index, .value = {}};
    for (const LayerMeasures& layer : analysis.cells[index].layers) {
      line.value.push_back(reading(layer));
    }
    chart.lines.push_back(std::move(line));
  }
  return chart;
}

Estimate share_of(const Decomposition& decomposition) {
  return has_signal(decomposition) ? decomposition.nonrelative_share : kNothing;
}

std::string drawn(const std::vector<Chart>& charts) {
  std::string text = legend(charts.front().lines) + "<div class=\"charts\">\n";
  for (const Chart& chart : charts) text += draw_chart(chart);
  return text + "</div>\n";
}

}  // namespace

std::string curves(const Analysis& analysis) {
  return drawn(
      {by_layer(analysis, "Non-relative share, all keys", ChartScale::share,
                [](const LayerMeasures& layer) { return share_of(layer.all_keys); }),
       by_layer(analysis, "Non-relative share, without key 0", ChartScale::share,
                [](const LayerMeasures& layer) { return share_of(layer.without_first_key); }),
       by_layer(analysis, "Position signal without key 0, score²", ChartScale::logarithmic,
                [](const LayerMeasures& layer) {
                  const Decomposition& parts = layer.without_first_key;
                  return has_signal(parts) ? parts.total : kNothing;
                })});
}

std::string effects(const Analysis& analysis) {
  if (analysis.effects.empty()) return "";
  const auto lines = named_effects(analysis.effects.front());
  const auto chart_of = [&](const char* title, const auto& reading) {
    Chart chart{.title = title, .scale = ChartScale::share, .places = {}, .lines = {}};
    for (const FactorialEffects& layer : analysis.effects) chart.places.push_back(layer.layer);
    for (std::size_t index = 0; index < lines.size(); ++index) {
      ChartLine line{.title = lines[index].first, .colour = index, .value = {}};
      for (const FactorialEffects& layer : analysis.effects) {
        line.value.push_back(reading(*named_effects(layer)[index].second));
      }
      chart.lines.push_back(std::move(line));
    }
    return chart;
  };
  return drawn({chart_of("Share of what differs between cells, all keys",
                         [](const Effect& effect) { return effect.share; }),
                chart_of("The same, without key 0",
                         [](const Effect& effect) { return effect.share_without_first_key; }),
                chart_of("Non-relative share of each effect, all keys",
                         [](const Effect& effect) { return share_of(effect.all_keys); })});
}

std::string losses(const Analysis& analysis) {
  Chart chart{.title = "Next-token loss, nats",
              .noun = "position of the token that predicts",
              .places = {},
              .lines = {}};
  for (std::size_t index = 0; index < analysis.cells.size(); ++index) {
    const CellResult& result = analysis.cells[index];
    const std::vector<double>& loss = result.map.loss;
    if (loss.empty()) continue;
    ChartLine line{.title = result.cell.title, .colour = index, .value = {}, .dots = false};
    chart.places.clear();
    std::size_t first = 0;
    for (const std::int64_t end : bin_ends(std::ssize(loss))) {
      const auto last = static_cast<std::size_t>(end);
      double sum = 0;
      for (std::size_t k = first; k <= last; ++k) sum += loss[k];
      line.value.push_back({sum / static_cast<double>(last - first + 1)});
      chart.places.push_back(static_cast<int>((first + last) / 2));
      first = last + 1;
    }
    chart.lines.push_back(std::move(line));
  }
  return chart.lines.empty() ? "" : drawn({chart});
}

}  // namespace poslens
