#include "figures/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "poslens/error.h"

namespace poslens {
namespace {

// In font sizes.
constexpr double kLeft = 6.4;  // tick labels and the axis' name
constexpr double kRight = 1;
constexpr double kTop = 1;
constexpr double kFigureTitle = 2.3;
constexpr double kTitleLine = 1.5;        // of every further line
constexpr double kTitleCharacter = 0.72;  // as wide as one may be: 0.6 of a font 1.2 times as large
constexpr double kPanelTitle = 2.3;
constexpr double kBottom = 4.3;
constexpr double kGap = 1.4;     // between panels
constexpr double kBarGap = 0.8;  // panel to colour bar
constexpr double kBarWidth = 0.9;
constexpr double kBarLabels = 4.8;
constexpr double kBar = kBarGap + kBarWidth + kBarLabels;

constexpr double kSmallestPanel = 20;  // points

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::vector<std::string> lines_of(const std::string& text, std::size_t longest) {
  std::vector<std::string> lines;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!lines.empty() && characters(lines.back()) + 1 + characters(word) <= longest) {
      lines.back() += ' ' + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

}  // namespace

Layout layout_of(std::size_t panels, bool shared_bar, const FigureOptions& options) {
  Layout layout;
  layout.em = options.font_size;
  layout.columns = std::min<std::size_t>(panels, static_cast<std::size_t>(options.columns));
  layout.rows = (panels + layout.columns - 1) / layout.columns;
  layout.shared_bar = shared_bar;
  const auto columns = static_cast<double>(layout.columns);
  // All that is not panel.
  const double beside =
      (kLeft + kRight + (shared_bar ? kBar + kGap * (columns - 1) : kBar * columns)) * layout.em;
  layout.panel = options.panel;
  if (options.width) {
    layout.panel = (*options.width - beside) / columns;
    if (layout.panel < kSmallestPanel) {
      throw UsageError(fmt::format(
          "--width {:g}pt: expected at least {:.0f}pt for {} columns and a font of {:g}pt",
          *options.width, std::ceil(beside + kSmallestPanel * columns), layout.columns,
          options.font_size));
    }
  }
  layout.step_x = layout.panel + (shared_bar ? kGap : kBar) * layout.em;
  layout.step_y = layout.panel + (kPanelTitle + kGap / 2) * layout.em;
  layout.left = kLeft * layout.em;
  layout.width = beside + columns * layout.panel;
  layout.title =
      lines_of(options.title, static_cast<std::size_t>(layout.width / layout.em / kTitleCharacter));
  const auto lines = static_cast<double>(layout.title.size());
  layout.top = (kTop + (lines == 0 ? 0 : kFigureTitle + kTitleLine * (lines - 1))) * layout.em;
  layout.height = layout.top + static_cast<double>(layout.rows) * layout.step_y +
                  (kBottom - kGap / 2) * layout.em;
  return layout;
}

Box panel_box(const Layout& layout, std::size_t row, std::size_t column) {
  const double x = layout.left + static_cast<double>(column) * layout.step_x;
  const double y = layout.top + static_cast<double>(row) * layout.step_y + kPanelTitle * layout.em;
  return {x / layout.width, (x + layout.panel) / layout.width,
          1 - (y + layout.panel) / layout.height, 1 - y / layout.height};
}

Box bar_box(const Layout& layout, std::size_t row, std::size_t column) {
  Box box = panel_box(layout, row, column);
  if (layout.shared_bar) {
    const Box first = panel_box(layout, 0, layout.columns - 1);
    const Box last = panel_box(layout, layout.rows - 1, 0);
    box = {first.left, first.right, last.bottom, first.top};
  }
  const double left = box.right + kBarGap * layout.em / layout.width;
  return {left, left + kBarWidth * layout.em / layout.width, box.bottom, box.top};
}

double title_place(const Layout& layout, std::size_t line) {
  return (kTop + kFigureTitle / 4 + kTitleLine * static_cast<double>(line)) * layout.em;
}

}  // namespace poslens
