#pragma once
// Figures through gnuplot; the script stays beside the figure, so that a user can restyle it.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "poslens/matrix.h"

namespace poslens {

// Sequential, dark to light; then diverging, whose middle is white. All keep their order and, the
// diverging ones, their two sides for colour-blind readers.
enum class Palette { rocket, viridis, cividis, grey, diverging, purple_orange };
std::string to_string(Palette palette);
Palette parse_palette(std::string_view text);  // throws UsageError with the names there are
bool is_diverging(Palette palette);

struct Panel {
  std::string title;
  Matrix<float> values;  // row 0 on top; NaN is not drawn
  // Colour range; quantiles of the finite values, as FigureOptions says, when empty.
  std::optional<std::pair<double, double>> range;
};

// Lengths are in points, 72 to the inch.
struct FigureOptions {
  std::string title;
  int columns = 4;  // panels per row, 1..64
  Palette palette = Palette::rocket;
  std::string x_label = "key position";
  std::string y_label = "query position";
  double panel = 132;             // side of a panel (they are square), 20..2000
  std::optional<double> width{};  // of the whole figure: the panels follow. 40..8000
  std::string font{};             // by name; empty: the format's own sans-serif
  double font_size = 8;           // 3..48; titles and margins follow
  int dpi = 192;                  // of .png, 36..1200
  // Of a panel without a range, 0 <= first < second <= 1. Diverging palettes take the larger of
  // their distances from 0 to both sides.
  std::pair<double, double> quantiles{0.01, 0.99};
  bool shared_scale = false;  // quantiles of all panels together: one colour bar
  int contours = 0;           // lines at about so many round values between the ends, 0..32

  // Throws UsageError naming the command line's option, the value and what is allowed.
  void validate() const;
};

// Draws heat maps, panel after panel, row by row. The extension decides: .svg, .pdf or .png. Writes
// FILE, and FILE.gnuplot with the data in a folder beside it. Throws Error when gnuplot is missing
// or fails (with what it said), and UsageError for another extension, options out of range, and a
// width that leaves no room for its panels.
void draw_heat_maps(const std::vector<Panel>& panels, const FigureOptions& options,
                    const std::filesystem::path& file);

// Throws UsageError unless the name ends in an extension that draw_heat_maps() knows, and when it
// holds control characters: call it before the work whose result is drawn.
void check_figure_name(const std::filesystem::path& file);

// q-quantile of the finite values, 0 <= q <= 1; NaN when there are none.
double quantile(MatrixView<const float> values, double q);

// Colour of x in [0, 1] as 0xRRGGBB. rocket: black-violet-red-cream, like the paper's; viridis and
// cividis: matplotlib's; diverging: blue-white-red; purple_orange: ColorBrewer's PuOr.
unsigned palette_colour(Palette palette, double x);

}  // namespace poslens
