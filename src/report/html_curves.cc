#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "figures/axis.h"
#include "report/html_parts.h"

namespace poslens {
namespace {

// In the units of the SVG's view box.
constexpr double kWidth = 420;
constexpr double kHeight = 270;
constexpr double kLeft = 46;
constexpr double kRight = 12;
constexpr double kTop = 12;
constexpr double kBottom = 40;

// What a chart shows of one layer; nothing where it means nothing.
using Reading = std::function<std::optional<Estimate>(const LayerMeasures&)>;

struct Chart {
  const char* title;
  bool share;  // linear, 0..1, printed in per cent; otherwise logarithmic
  Reading reading;
};

struct Axes {
  double first_layer, last_layer;
  double low, high;  // of y; log10 when logarithmic
  bool share;

  double x(double layer) const {
    const double extent = std::max(1.0, last_layer - first_layer);
    return kLeft + (kWidth - kLeft - kRight) * (layer - first_layer + 0.5) / (extent + 1);
  }
  double y(double value) const {
    const double place = share ? value : std::log10(std::max(value, 1e-300));
    const double part = std::clamp((place - low) / (high - low), 0.0, 1.0);
    return kTop + (kHeight - kTop - kBottom) * (1 - part);
  }
};

Axes axes_for(const Analysis& analysis, const Chart& chart) {
  Axes axes{0, 0, 0, 1, chart.share};
  const auto& layers = analysis.cells.front().layers;
  axes.first_layer = layers.front().layer;
  axes.last_layer = layers.back().layer;
  if (chart.share) return axes;
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (const CellResult& result : analysis.cells) {
    for (const LayerMeasures& layer : result.layers) {
      const auto value = chart.reading(layer);
      if (!value || !(value->value > 0)) continue;
      low = std::min(low, value->value);
      high = std::max(high, value->value);
    }
  }
  if (high > 0) {
    axes.low = std::floor(std::log10(low));
    axes.high = std::max(axes.low + 1, std::ceil(std::log10(high)));
  }
  return axes;
}

std::string text_at(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", x, y, anchor,
                     text);
}

std::string frame(const Axes& axes) {
  std::string text = "<g class=\"grid\">";
  std::string labels = "<g class=\"labels\">";
  const int step = std::max(1, static_cast<int>(std::ceil((axes.high - axes.low) / 6)));
  const std::vector<double> ticks = axes.share ? round_ticks(0, 1, 4) : [&] {
    std::vector<double> powers;
    for (double power = axes.low; power <= axes.high; power += step) {
      powers.push_back(std::pow(10.0, power));
    }
    return powers;
  }();
  for (const double tick : ticks) {
    const double y = axes.y(tick);
    text += fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", kLeft,
                        kWidth - kRight, y, y);
    labels += text_at(kLeft - 7, y + 4, "end",
                      axes.share ? fmt::format("{:.0f} %", 100 * tick) : fmt::format("{:g}", tick));
  }
  for (const double layer : round_ticks(axes.first_layer + 1, axes.last_layer + 1.001, 6)) {
    if (layer != std::round(layer)) continue;
    labels +=
        text_at(axes.x(layer - 1), kHeight - kBottom + 17, "middle", fmt::format("{:.0f}", layer));
  }
  labels += text_at((kLeft + kWidth - kRight) / 2, kHeight - 5, "middle", "layer");
  return text + "</g>" + labels + "</g>\n";
}

// A line through neighbouring layers that have a reading, bars of confidence intervals, and a
// dot with the numbers in words.
std::string series(const CellResult& result, std::size_t index, std::size_t count, const Axes& axes,
                   const Chart& chart) {
  const double spread = axes.x(1) - axes.x(0);
  const double shift =
      count < 2 ? 0
                : std::min(spread, 8.0) * 0.6 *
                      (static_cast<double>(index) / static_cast<double>(count - 1) - 0.5);
  std::string line;
  std::string bars;
  std::string dots;
  bool broken = true;
  for (const LayerMeasures& layer : result.layers) {
    const auto reading = chart.reading(layer);
    if (!reading || !std::isfinite(reading->value)) {
      broken = true;
      continue;
    }
    const double x = axes.x(layer.layer) + shift;
    const double y = axes.y(reading->value);
    line += fmt::format("{}{:.1f} {:.1f}", broken ? "M" : "L", x, y);
    broken = false;
    const Interval interval = confidence_interval(*reading);
    if (std::isfinite(interval.low)) {
      bars += fmt::format("M{:.1f} {:.1f}V{:.1f}", x, axes.y(interval.low), axes.y(interval.high));
    }
    dots += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.4\"><title>{}, layer {}: {}</title></circle>", x,
        y, escape_html(result.cell.title), layer.layer + 1,
        chart.share ? format_share(*reading) : format_estimate(*reading));
  }
  return fmt::format(
      "<g class=\"series s{}\"><path class=\"bars\" d=\"{}\"/><path class=\"line\" d=\"{}\"/>{}"
      "</g>\n",
      index % 8, bars, line, dots);
}

std::string draw(const Analysis& analysis, const Chart& chart) {
  const Axes axes = axes_for(analysis, chart);
  std::string text = fmt::format(
      "<figure class=\"chart\"><figcaption>{}</figcaption><svg viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-label=\"{}, by layer\">\n",
      chart.title, kWidth, kHeight, chart.title);
  text += frame(axes);
  for (std::size_t index = 0; index < analysis.cells.size(); ++index) {
    text += series(analysis.cells[index], index, analysis.cells.size(), axes, chart);
  }
  return text + "</svg></figure>\n";
}

std::optional<Estimate> share_of(const Decomposition& decomposition) {
  if (!has_signal(decomposition)) return std::nullopt;
  return decomposition.nonrelative_share;
}

}  // namespace

std::string curves(const Analysis& analysis) {
  const Chart charts[] = {
      {"Non-relative share, all keys", true,
       [](const LayerMeasures& layer) { return share_of(layer.all_keys); }},
      {"Non-relative share, without key 0", true,
       [](const LayerMeasures& layer) { return share_of(layer.without_first_key); }},
      {"Position signal without key 0, score²", false,
       [](const LayerMeasures& layer) -> std::optional<Estimate> {
         if (!has_signal(layer.without_first_key)) return std::nullopt;
         return layer.without_first_key.total;
       }},
  };
  std::string text = "<ul class=\"legend\">";
  for (std::size_t index = 0; index < analysis.cells.size(); ++index) {
    text += fmt::format("<li class=\"s{}\">{}</li>", index % 8,
                        escape_html(analysis.cells[index].cell.title));
  }
  text += "</ul>\n<div class=\"charts\">\n";
  for (const Chart& chart : charts) text += draw(analysis, chart);
  return text + "</div>\n";
}

}  // namespace poslens
