#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "report/html_parts.h"

namespace poslens {
namespace {

// A paragraph whose first sentence can be read alone.
std::string headline(std::string_view paragraph) {
  const std::size_t end = paragraph.find(". ");
  if (end == std::string_view::npos) return "<p class=\"first\">" + prose(paragraph) + "</p>\n";
  return "<p class=\"first\">" + prose(paragraph.substr(0, end + 1)) + "</p>\n<p>" +
         prose(paragraph.substr(end + 2)) + "</p>\n";
}

std::string paragraphs(std::string_view text) {
  std::string html;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (end > 0) html += html.empty() ? headline(line) : "<p>" + prose(line) + "</p>\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return html;
}

std::optional<Estimate> finding(const Analysis& analysis, const std::string& name) {
  for (const auto& [known, estimate] : analysis.findings) {
    if (known == name && std::isfinite(estimate.value)) return estimate;
  }
  return std::nullopt;
}

struct Bar {
  std::string title;
  Estimate total;                   // 1: that of the model as it is
  std::optional<Estimate> share{};  // of it that is not relative; where the total is beyond noise
};

std::vector<Bar> bars_of(const Analysis& analysis) {
  std::vector<Bar> bars;
  for (const CellResult& result : analysis.cells) {
    const bool first = bars.empty();
    const std::optional<Estimate> total =
        first ? Estimate{1} : finding(analysis, "total_left_" + result.cell.name);
    const auto share = finding(analysis, "nonrelative_share_" + result.cell.name);
    if (first && !share) return {};  // without a signal there is nothing to compare with
    if (total) bars.push_back({result.cell.title, *total, share});
  }
  return bars;
}

std::vector<Bar> bars_of_effects(const Analysis& analysis) {
  std::vector<Bar> bars;
  const std::pair<const char*, std::string> effects[] = {{"encoding", analysis.encoding.name},
                                                         {"mask", "the causal mask"},
                                                         {"interaction", "only both together"}};
  for (const auto& [name, title] : effects) {
    const auto total = finding(analysis, fmt::format("effect_share_{}", name));
    if (!total) return {};
    bars.push_back(
        {title, *total, finding(analysis, fmt::format("effect_nonrelative_share_{}", name))});
  }
  return bars;
}

std::string bar_row(const Bar& bar, double full) {
  const auto width = [&](double part) {
    return fmt::format("{:.2f}%", 100 * std::clamp(part / full, 0.0, 1.0));
  };
  const double share = bar.share ? std::clamp(bar.share->value, 0.0, 1.0) : 0;
  std::string marks = fmt::format(
      "<i class=\"relative{}\" style=\"width:{}\"></i><i class=\"other\" style=\"width:{}\"></i>",
      bar.share ? "" : " noise", width(bar.total.value * (1 - share)),
      width(bar.total.value * share));
  const Interval interval = confidence_interval(bar.total);
  if (std::isfinite(interval.low) && interval.high > interval.low) {
    const double low = std::max(0.0, interval.low);
    marks += fmt::format("<i class=\"interval\" style=\"left:{};width:{}\"></i>", width(low),
                         width(interval.high - low));
  }
  return fmt::format(
      "<div class=\"bar-row\"><span class=\"name\">{}</span><span class=\"number\">{}</span>"
      "<span class=\"bar\">{}</span><span class=\"of\">{}</span></div>\n",
      escape_html(bar.title), prose(format_share(bar.total)), marks,
      bar.share ? prose(format_share(*bar.share)) + " not relative" : "within noise");
}

std::string bar_rows(const char* caption, const std::vector<Bar>& bars) {
  if (bars.empty()) return "";
  double full = 1;
  for (const Bar& bar : bars) {
    const double high = confidence_interval(bar.total).high;
    full = std::max({full, bar.total.value, std::isfinite(high) ? high : 0});
  }
  std::string text = fmt::format("<h3>{}</h3>\n", caption);
  for (const Bar& bar : bars) text += bar_row(bar, full);
  return text;
}

std::string bars_figure(const Analysis& analysis) {
  const std::vector<Bar> cells = bars_of(analysis);
  if (cells.empty()) return "";
  return "<figure class=\"bars-figure\">\n<p class=\"key\"><i class=\"relative\"></i>a function of "
         "the distance <i class=\"other\"></i>not relative</p>\n" +
         bar_rows("Position signal in each cell, as a share of the model’s own", cells) +
         bar_rows("What each does, as a share of all that differs between the four cells",
                  bars_of_effects(analysis)) +
         "<p class=\"key\">All layers together; lines are intervals of 95 %.</p></figure>\n";
}

}  // namespace

std::string answer_part(const Analysis& analysis) {
  return "<div class=\"words\">\n" + paragraphs(analysis.answer) + "</div>\n" +
         bars_figure(analysis);
}

}  // namespace poslens
