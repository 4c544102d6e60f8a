#include "figures/heat_map_script.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "figures/axis.h"
#include "figures/colours.h"
#include "poslens/version.h"

namespace poslens {
namespace {

constexpr std::size_t kLargestRectangles = 64;  // values per side
constexpr double kPixels = 96.0 / 72;           // CSS pixels in a point

// Font sizes as the terminal counts them: .svg in pixels, the others in points.
double font_unit(const std::string& terminal) { return terminal == "svg" ? kPixels : 1; }

std::string terminal_line(const std::string& terminal, const Layout& layout,
                          const FigureOptions& options) {
  const std::string family = options.font.empty() ? "Helvetica" : options.font;
  if (terminal == "svg") {
    const char* fallback = options.font.empty() ? ",Arial,sans-serif" : ",sans-serif";
    return fmt::format(
        "svg size {:.0f},{:.0f} noenhanced font '{}{},{:.4g}' background rgb 'white'",
        layout.width * kPixels, layout.height * kPixels, family, fallback, layout.em * kPixels);
  }
  if (terminal == "pdf") {
    return fmt::format(
        "pdfcairo size {:.4f}in,{:.4f}in noenhanced font '{},{:.4g}' fontscale 0.75 linewidth 0.75",
        layout.width / 72, layout.height / 72, family, layout.em);
  }
  const double scale = options.dpi / 96.0;
  return fmt::format(
      "pngcairo size {:.0f},{:.0f} noenhanced font '{},{:.4g}' fontscale {:.4g} linewidth {:.4g}",
      layout.width * kPixels * scale, layout.height * kPixels * scale, family, layout.em, scale,
      scale);
}

std::string palette_lines(Palette palette) {
  std::string text = "set palette maxcolors 256\nset palette defined (";
  const auto points = control_points(palette);
  for (std::size_t k = 0; k < points.size(); ++k) {
    text += fmt::format("{}{} '#{:06x}'", k == 0 ? "" : ", ", k, points[k]);
  }
  return text + ")\n";
}

// Labels, where there are any, with as few digits as tell the ticks apart.
std::string tick_list(const std::vector<double>& ticks, bool labelled = true) {
  std::string text = "(";
  for (const double tick : ticks) {
    if (text.size() > 1) text += ", ";
    text += fmt::format("'{}' {:.12g}", labelled ? fmt::format("{:.6g}", tick) : "", tick);
  }
  return text + ")";
}

// As many as have room along a panel.
int wanted_ticks(const Layout& layout) {
  return std::clamp(static_cast<int>(layout.panel / (4 * layout.em)), 1, 10);
}

// Three at least: a bar with one number says nothing.
int wanted_bar_ticks(const Layout& layout, const Box& bar) {
  const double length = (bar.top - bar.bottom) * layout.height;
  return std::clamp(static_cast<int>(length / (3 * layout.em)), 3, 8);
}

// Whole numbers below n.
std::vector<double> position_ticks(std::size_t n, const Layout& layout) {
  const double last = std::max(1.0, static_cast<double>(n) - 1);
  return round_ticks(0, last, static_cast<int>(std::min<double>(wanted_ticks(layout), last)));
}

// A viewer blurs the few pixels of a small image over the panel, so small maps become rectangles in
// .svg files; .pdf and .png need no such help.
bool as_rectangles(const ScriptPanel& panel, const std::string& terminal) {
  return terminal == "svg" && std::max(panel.rows, panel.columns) <= kLargestRectangles;
}

std::string colour_bar(const Box& box, bool draw) {
  if (!draw) return "unset colorbox\n";
  return fmt::format(
      "set colorbox vertical user origin screen {:.6f},{:.6f} size screen {:.6f},{:.6f} noborder\n",
      box.left, box.bottom, box.right - box.left, box.top - box.bottom);
}

// 'file' and how to read it; dimensions: 2 for plot, 3 for splot.
std::string data_source(const ScriptPanel& panel, int dimensions) {
  const double centre = (static_cast<double>(panel.block) - 1) / 2;  // of the first block
  return fmt::format(
      "{} binary array=({},{}) format='%float32' endian=little dx={} dy={} "
      "origin=({:.1f},{:.1f}{})",
      gnuplot_string(panel.data_file), panel.columns, panel.rows, panel.block, panel.block, centre,
      centre, dimensions == 3 ? ",0" : "");
}

std::string contour_name(std::size_t index) { return fmt::format("$contours{}", index + 1); }

// Lines of equal value, computed by gnuplot, into a block of data.
std::string contour_table(const ScriptPanel& panel, std::size_t index) {
  if (panel.contours.empty()) return "";
  return fmt::format(
      "set cntrparam levels discrete {:.9g}\nset table {}\nsplot {} with lines\nunset table\n",
      fmt::join(panel.contours, ","), contour_name(index), data_source(panel, 3));
}

// Black lines over light colours, white ones over dark.
std::string contour_plot(const ScriptPanel& panel, std::size_t index, Palette palette) {
  if (panel.contours.empty()) return "";
  const auto [low, high] = panel.range;
  std::string colour;
  for (std::size_t k = 0; k < panel.contours.size(); ++k) {
    if (k + 1 < panel.contours.size()) {
      colour += fmt::format("$3<{:.9g}?", (panel.contours[k] + panel.contours[k + 1]) / 2);
    }
    const bool light = luminance(palette, (panel.contours[k] - low) / (high - low)) > 0.45;
    colour += fmt::format("{}{}", light ? "0x000000" : "0xffffff",
                          k + 1 < panel.contours.size() ? ":" : "");
  }
  return fmt::format(
      ", \\\n  {} using 1:2:({}) with lines linewidth 0.5 linecolor rgb variable notitle",
      contour_name(index), colour);
}

std::string panel_block(const std::vector<ScriptPanel>& panels, std::size_t index,
                        const FigureOptions& options, const std::string& terminal,
                        const Layout& layout) {
  const ScriptPanel& panel = panels[index];
  const std::size_t row = index / layout.columns;
  const std::size_t column = index % layout.columns;
  const bool lowest = index + layout.columns >= panels.size();
  const Box box = panel_box(layout, row, column);
  const auto block = static_cast<double>(panel.block);
  const double width = static_cast<double>(panel.columns) * block;
  const double height = static_cast<double>(panel.rows) * block;
  const auto x_ticks = position_ticks(panel.columns * panel.block, layout);
  const auto y_ticks = position_ticks(panel.rows * panel.block, layout);
  std::string text = fmt::format(
      "\n# Panel {}\nset lmargin at screen {:.6f}; set rmargin at screen {:.6f}\n"
      "set bmargin at screen {:.6f}; set tmargin at screen {:.6f}\n",
      index + 1, box.left, box.right, box.bottom, box.top);
  text += fmt::format("set title {}\n", gnuplot_string(panel.title));
  text += fmt::format("set xrange [-0.5:{:.1f}]\nset yrange [{:.1f}:-0.5]\n", width - 0.5,
                      height - 0.5);
  text += fmt::format("set cbrange [{:.9g}:{:.9g}]\n", panel.range.first, panel.range.second);
  text += "set xtics " + tick_list(x_ticks, lowest) + "\n";
  text += "set ytics " + tick_list(y_ticks, column == 0) + "\n";
  const Box bar = bar_box(layout, row, column);
  const int bar_ticks = wanted_bar_ticks(layout, bar);
  text += fmt::format("set cbtics {}\n",
                      tick_list(round_ticks(panel.range.first, panel.range.second, bar_ticks)));
  text +=
      fmt::format("set xlabel {}\nset ylabel {}\n", gnuplot_string(lowest ? options.x_label : ""),
                  gnuplot_string(column == 0 ? options.y_label : ""));
  text += colour_bar(bar, !layout.shared_bar || index == 0);
  text += fmt::format("plot {} with image{} notitle{}\n", data_source(panel, 2),
                      as_rectangles(panel, terminal) ? " pixels" : "",
                      contour_plot(panel, index, options.palette));
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
                            const Layout& layout, const std::string& terminal,
                            const std::string& output) {
  std::string text = fmt::format(
      "# Drawn by poslens {}. To restyle the figure, change this script and run, in its folder:\n"
      "#   gnuplot {}\n"
      "# Panels are little-endian f32, row after row; NaN where there is nothing to draw.\n\n",
      kVersion, gnuplot_string(output + ".gnuplot"));
  text += "set encoding utf8\nset terminal " + terminal_line(terminal, layout, options) + "\n";
  text += "set output " + gnuplot_string("./" + output) + "\n";
  text += palette_lines(options.palette);
  const double unit = layout.em * font_unit(terminal);
  text += fmt::format(
      "set border 3 linewidth 0.6 linecolor rgb '#555555'\n"
      "set tics out nomirror scale 0.5 textcolor rgb '#333333' font ',{:.4g}'\n"
      "set xtics offset 0,0.3\nset ytics offset 0.4,0\nset cbtics scale 0.3 offset -0.7,0\n"
      "set xlabel offset 0,0.6 textcolor rgb '#222222'\n"
      "set ylabel offset 0.6,0 textcolor rgb '#222222'\n"
      "set title offset 0,-0.6 font ',{:.4g}' textcolor rgb '#111111'\n",
      0.9 * unit, unit);
  std::string contours;
  for (std::size_t index = 0; index < panels.size(); ++index) {
    contours += contour_table(panels[index], index);
  }
  if (!contours.empty()) {
    text += "\nset contour base\nunset surface\n" + contours + "unset contour\nset surface\n";
  }
  text += "set multiplot";
  for (std::size_t line = 0; line < layout.title.size(); ++line) {
    text += fmt::format("\nset label {} {} at screen 0.5,{:.6f} center font ',{:.4g}' front",
                        line + 1, gnuplot_string(layout.title[line]),
                        1 - title_place(layout, line) / layout.height, 1.2 * unit);
  }
  text += "\n";
  for (std::size_t index = 0; index < panels.size(); ++index) {
    text += panel_block(panels, index, options, terminal, layout);
    if (index == 0 && !layout.title.empty()) text += "unset label\n";
  }
  return text + "\nunset multiplot\nunset output\n";
}

}  // namespace poslens
