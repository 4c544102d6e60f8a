#include "figures/heat_map_script.h"

#include <fmt/format.h>

#include <algorithm>

#include "figures/axis.h"
#include "figures/colours.h"
#include "poslens/version.h"

namespace poslens {
namespace {

// Sizes in CSS pixels (96 to the inch).
constexpr double kPanel = 176;
constexpr double kLeft = 66;
constexpr double kRight = 10;
constexpr double kTop = 12;
constexpr double kFigureTitle = 24;
constexpr double kPanelTitle = 26;
constexpr double kBottom = 46;
constexpr double kGap = 14;    // between panels
constexpr double kBarGap = 8;  // panel to colour bar
constexpr double kBarWidth = 9;
constexpr double kBarLabels = 50;

constexpr std::size_t kLargestRectangles = 64;  // values per side

struct Layout {
  std::size_t columns;
  std::size_t rows;
  bool shared_bar;
  double step_x;  // from panel to panel
  double step_y;
  double top;  // of the first row's title
  double width;
  double height;
};

Layout layout_of(const std::vector<ScriptPanel>& panels, const FigureOptions& options) {
  Layout layout{};
  layout.columns = std::min<std::size_t>(panels.size(), static_cast<std::size_t>(options.columns));
  layout.rows = (panels.size() + layout.columns - 1) / layout.columns;
  layout.shared_bar = std::all_of(panels.begin(), panels.end(), [&](const ScriptPanel& panel) {
    return panel.range == panels[0].range;
  });
  const double bar = kBarGap + kBarWidth + kBarLabels;
  layout.step_x = kPanel + (layout.shared_bar ? kGap : bar);
  layout.step_y = kPanelTitle + kPanel + kGap / 2;
  layout.top = kTop + (options.title.empty() ? 0 : kFigureTitle);
  layout.width = kLeft + static_cast<double>(layout.columns) * layout.step_x + kRight +
                 (layout.shared_bar ? bar - kGap : 0) - kGap;
  layout.height = layout.top + static_cast<double>(layout.rows) * layout.step_y + kBottom;
  return layout;
}

std::string terminal_line(const std::string& terminal, const Layout& layout) {
  if (terminal == "svg") {
    return fmt::format(
        "svg size {:.0f},{:.0f} noenhanced font 'Helvetica,Arial,sans-serif,11' "
        "background rgb 'white'",
        layout.width, layout.height);
  }
  if (terminal == "pdf") {
    return fmt::format(
        "pdfcairo size {:.3f}in,{:.3f}in noenhanced font 'Helvetica,11' "
        "fontscale 0.75 linewidth 0.75",
        layout.width / 96, layout.height / 96);
  }
  return fmt::format(
      "pngcairo size {:.0f},{:.0f} noenhanced font 'Helvetica,11' fontscale 1.5 "
      "linewidth 2",
      2 * layout.width, 2 * layout.height);
}

std::string palette_lines(Palette palette) {
  std::string text = "set palette maxcolors 256\nset palette defined (";
  const auto points = control_points(palette);
  for (std::size_t k = 0; k < points.size(); ++k) {
    text += fmt::format("{}{} '#{:06x}'", k == 0 ? "" : ", ", k, points[k]);
  }
  return text + ")\n";
}

// Labels with as few digits as tell the ticks apart.
std::string tick_list(const std::vector<double>& ticks) {
  std::string text = "(";
  for (const double tick : ticks) {
    if (text.size() > 1) text += ", ";
    text += fmt::format("'{:.6g}' {:.12g}", tick, tick);
  }
  return text + ")";
}

std::string no_labels(const std::vector<double>& ticks) {
  std::string text = "(";
  for (const double tick : ticks) {
    if (text.size() > 1) text += ", ";
    text += fmt::format("'' {:.12g}", tick);
  }
  return text + ")";
}

// Whole numbers below n.
std::vector<double> position_ticks(std::size_t n) {
  const double last = std::max(1.0, static_cast<double>(n) - 1);
  return round_ticks(0, last, static_cast<int>(std::min(4.0, last)));
}

// A viewer blurs the few pixels of a small image over the panel, so small maps become rectangles in
// .svg files; .pdf and .png need no such help.
bool as_rectangles(const ScriptPanel& panel, const std::string& terminal) {
  return terminal == "svg" && std::max(panel.rows, panel.columns) <= kLargestRectangles;
}

struct Box {
  double left, right, bottom, top;  // parts of the figure, from below
};

Box panel_box(const Layout& layout, std::size_t row, std::size_t column) {
  const double x = kLeft + static_cast<double>(column) * layout.step_x;
  const double y = layout.top + static_cast<double>(row) * layout.step_y + kPanelTitle;
  return {x / layout.width, (x + kPanel) / layout.width, 1 - (y + kPanel) / layout.height,
          1 - y / layout.height};
}

std::string colour_bar(const Layout& layout, const Box& box, bool draw) {
  if (!draw) return "unset colorbox\n";
  // One bar for all stands beside the whole grid.
  const double right =
      layout.shared_bar ? panel_box(layout, 0, layout.columns - 1).right : box.right;
  const double bottom =
      layout.shared_bar ? panel_box(layout, layout.rows - 1, 0).bottom : box.bottom;
  const double top = layout.shared_bar ? panel_box(layout, 0, 0).top : box.top;
  return fmt::format(
      "set colorbox vertical user origin screen {:.6f},{:.6f} size screen {:.6f},{:.6f} noborder\n",
      right + kBarGap / layout.width, bottom, kBarWidth / layout.width, top - bottom);
}

std::string panel_block(const std::vector<ScriptPanel>& panels, std::size_t index,
                        const FigureOptions& options, const std::string& terminal,
                        const Layout& layout) {
  const ScriptPanel& panel = panels[index];
  const std::size_t row = index / layout.columns;
  const std::size_t column = index % layout.columns;
  const bool lowest = index + layout.columns >= panels.size();
  const Box box = panel_box(layout, row, column);
  const double block = static_cast<double>(panel.block);
  const double width = static_cast<double>(panel.columns) * block;
  const double height = static_cast<double>(panel.rows) * block;
  const auto x_ticks = position_ticks(panel.columns * panel.block);
  const auto y_ticks = position_ticks(panel.rows * panel.block);
  std::string text = fmt::format(
      "\n# Panel {}\nset lmargin at screen {:.6f}; set rmargin at screen {:.6f}\n"
      "set bmargin at screen {:.6f}; set tmargin at screen {:.6f}\n",
      index + 1, box.left, box.right, box.bottom, box.top);
  text += fmt::format("set title {}\n", gnuplot_string(panel.title));
  text += fmt::format("set xrange [-0.5:{:.1f}]\nset yrange [{:.1f}:-0.5]\n", width - 0.5,
                      height - 0.5);
  text += fmt::format("set cbrange [{:.9g}:{:.9g}]\n", panel.range.first, panel.range.second);
  text += "set xtics " + (lowest ? tick_list(x_ticks) : no_labels(x_ticks)) + "\n";
  text += "set ytics " + (column == 0 ? tick_list(y_ticks) : no_labels(y_ticks)) + "\n";
  text += "set cbtics " + tick_list(round_ticks(panel.range.first, panel.range.second, 4)) + "\n";
  text +=
      fmt::format("set xlabel {}\nset ylabel {}\n", gnuplot_string(lowest ? options.x_label : ""),
                  gnuplot_string(column == 0 ? options.y_label : ""));
  text += colour_bar(layout, box, !layout.shared_bar || index == 0);
  text += fmt::format(
      "plot {} binary array=({},{}) format='%float32' endian=little dx={} dy={} "
      "origin=({:.1f},{:.1f}) with image{} notitle\n",
      gnuplot_string(panel.data_file), panel.columns, panel.rows, panel.block, panel.block,
      (block - 1) / 2, (block - 1) / 2, as_rectangles(panel, terminal) ? " pixels" : "");
  return text;
}

}  // namespace

std::string gnuplot_string(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    if (c == '\'') quoted += c;
  }
  return quoted + "'";
}

std::string heat_map_script(const std::vector<ScriptPanel>& panels, const FigureOptions& options,
                            const std::string& terminal, const std::string& output) {
  const Layout layout = layout_of(panels, options);
  std::string text = fmt::format(
      "# Drawn by poslens {}. To restyle the figure, change this script and run, in its folder:\n"
      "#   gnuplot {}\n"
      "# Panels are little-endian f32, row after row; NaN where there is nothing to draw.\n\n",
      kVersion, gnuplot_string(output + ".gnuplot"));
  text += "set encoding utf8\nset terminal " + terminal_line(terminal, layout) + "\n";
  text += "set output " + gnuplot_string("./" + output) + "\n";
  text += palette_lines(options.palette);
  text +=
      "set border 3 linewidth 0.6 linecolor rgb '#555555'\n"
      "set tics out nomirror scale 0.5 textcolor rgb '#333333' font ',10'\n"
      "set xtics offset 0,0.3\nset ytics offset 0.4,0\nset cbtics scale 0.3 offset -0.7,0\n"
      "set xlabel offset 0,0.6 textcolor rgb '#222222'\n"
      "set ylabel offset 0.6,0 textcolor rgb '#222222'\n"
      "set title offset 0,-0.6 font ',11' textcolor rgb '#111111'\n";
  text += "set multiplot";
  if (!options.title.empty()) {
    text +=
        fmt::format("\nset label 1 {} at screen 0.5,{:.6f} center font ',13' front",
                    gnuplot_string(options.title), 1 - (kTop + kFigureTitle / 4) / layout.height);
  }
  text += "\n";
  for (std::size_t index = 0; index < panels.size(); ++index) {
    text += panel_block(panels, index, options, terminal, layout);
    if (index == 0 && !options.title.empty()) text += "unset label 1\n";
  }
  return text + "\nunset multiplot\nunset output\n";
}

}  // namespace poslens
