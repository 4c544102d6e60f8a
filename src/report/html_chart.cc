#include "report/html_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

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

class Axes {
 public:
  explicit Axes(const Chart& chart) : chart_(chart), by_layer_(chart.noun == "layer") {
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (const ChartLine& line : chart.lines) {
      for (const Estimate& one : line.value) {
        if (!std::isfinite(one.value)) continue;
        if (chart.scale == ChartScale::logarithmic && !(one.value > 0)) continue;
        low = std::min(low, one.value);
        high = std::max(high, one.value);
      }
    }
    const bool some = low <= high;
    if (chart.scale == ChartScale::share) {
      high_ = some ? std::max(1.0, high) : 1;
    } else if (chart.scale == ChartScale::logarithmic && some) {
      low_ = std::floor(std::log10(low));
      high_ = std::max(low_ + 1, std::ceil(std::log10(high)));
    } else if (some) {
      const double margin = high > low ? (high - low) / 20 : std::max(1e-6, std::abs(high) / 20);
      low_ = low - margin;
      high_ = high + margin;
    }
  }

  double x(int place) const {
    const double first = at(chart_.places.front());
    const double extent = at(chart_.places.back()) - first;
    // Half a layer is left free on either side.
    const double margin = by_layer_ ? 0.5 : 0;
    const double part = (at(place) - first + margin) / std::max(1e-9, extent + 2 * margin);
    return kLeft + (kWidth - kLeft - kRight) * part;
  }
  double y(double value) const {
    const double place =
        chart_.scale == ChartScale::logarithmic ? std::log10(std::max(value, 1e-300)) : value;
    const double part = std::clamp((place - low_) / (high_ - low_), 0.0, 1.0);
    return kTop + (kHeight - kTop - kBottom) * (1 - part);
  }
  std::vector<double> value_ticks() const {
    if (chart_.scale != ChartScale::logarithmic) return round_ticks(low_, high_, 4);
    const int step = std::max(1, static_cast<int>(std::ceil((high_ - low_) / 6)));
    std::vector<double> powers;
    for (double power = low_; power <= high_; power += step) powers.push_back(std::pow(10, power));
    return powers;
  }
  std::vector<int> place_ticks() const {
    std::vector<int> ticks;
    const int first = chart_.places.front();
    const int last = chart_.places.back();
    if (by_layer_) {
      for (const double layer : round_ticks(first + 1, last + 1.001, 6)) {
        if (layer == std::round(layer)) ticks.push_back(static_cast<int>(layer) - 1);
      }
      return ticks;
    }
    for (const int position : {0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10000, 30000}) {
      if (position >= first && position <= last) ticks.push_back(position);
    }
    return ticks;
  }
  bool by_layer() const { return by_layer_; }

 private:
  double at(int place) const { return by_layer_ ? place : std::log1p(place); }

  const Chart& chart_;
  bool by_layer_;
  double low_ = 0;  // log10 when logarithmic
  double high_ = 1;
};

std::string text_at(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", x, y, anchor,
                     text);
}

std::string frame(const Chart& chart, const Axes& axes) {
  std::string text = "<g class=\"grid\">";
  std::string labels = "<g class=\"labels\">";
  for (const double tick : axes.value_ticks()) {
    const double y = axes.y(tick);
    text += fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", kLeft,
                        kWidth - kRight, y, y);
    labels += text_at(kLeft - 7, y + 4, "end",
                      chart.scale == ChartScale::share ? fmt::format("{:.0f} %", 100 * tick)
                                                       : fmt::format("{:g}", tick));
  }
  for (const int place : axes.place_ticks()) {
    labels += text_at(axes.x(place), kHeight - kBottom + 17, "middle",
                      std::to_string(place + (axes.by_layer() ? 1 : 0)));
  }
  labels += text_at((kLeft + kWidth - kRight) / 2, kHeight - 5, "middle", chart.noun);
  return text + "</g>" + labels + "</g>\n";
}

// A line through neighbouring places that have a value. Lines stand a little apart.
std::string series(const Chart& chart, const Axes& axes, std::size_t index) {
  const ChartLine& one = chart.lines[index];
  const auto count = static_cast<double>(chart.lines.size());
  double shift = 0;
  if (axes.by_layer() && count > 1 && chart.places.size() > 1) {
    const double spread = axes.x(chart.places[1]) - axes.x(chart.places[0]);
    shift = std::min(spread, 8.0) * 0.6 * (static_cast<double>(index) / (count - 1) - 0.5);
  }
  std::string line;
  std::string bars;
  std::string dots;
  bool broken = true;
  for (std::size_t k = 0; k < chart.places.size(); ++k) {
    const Estimate& reading = one.value[k];
    if (!std::isfinite(reading.value)) {
      broken = true;
      continue;
    }
    const double x = axes.x(chart.places[k]) + shift;
    const double y = axes.y(reading.value);
    line += fmt::format("{}{:.1f} {:.1f}", broken ? "M" : "L", x, y);
    broken = false;
    if (!one.dots) continue;
    const Interval interval = confidence_interval(reading);
    if (std::isfinite(interval.low)) {
      bars += fmt::format("M{:.1f} {:.1f}V{:.1f}", x, axes.y(interval.low), axes.y(interval.high));
    }
    dots += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.4\"><title>{}, {} {}: {}</title></circle>", x, y,
        escape_html(one.title), chart.noun, chart.places[k] + (axes.by_layer() ? 1 : 0),
        prose(chart.scale == ChartScale::share ? format_share(reading) : format_estimate(reading)));
  }
  return fmt::format(
      "<g class=\"series s{}\"><path class=\"bars\" d=\"{}\"/><path class=\"line\" d=\"{}\"/>{}"
      "</g>\n",
      one.colour % 8, bars, line, dots);
}

}  // namespace

std::string draw_chart(const Chart& chart) {
  const Axes axes(chart);
  const std::string title = escape_html(chart.title);
  std::string text = fmt::format(
      "<figure class=\"chart\"><figcaption>{}</figcaption><svg viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-label=\"{}, by {}\">\n",
      title, kWidth, kHeight, title, chart.noun);
  text += frame(chart, axes);
  for (std::size_t index = 0; index < chart.lines.size(); ++index) {
    text += series(chart, axes, index);
  }
  return text + "</svg></figure>\n";
}

std::string legend(const std::vector<ChartLine>& lines) {
  std::string text = "<ul class=\"legend\">";
  for (const ChartLine& line : lines) {
    text += fmt::format("<li class=\"s{}\">{}</li>", line.colour % 8, escape_html(line.title));
  }
  return text + "</ul>\n";
}

}  // namespace poslens
