#pragma once
// Figures through gnuplot; the script stays beside the figure, so that a user can restyle it.

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "poslens/matrix.h"

namespace poslens {

enum class Palette { rocket, diverging };

struct Panel {
  std::string title;
  Matrix<float> values;  // row 0 on top; NaN is not drawn
  // Colour range; the 1 % and 99 % quantiles of the finite values when empty.
  std::optional<std::pair<double, double>> range;
};

struct FigureOptions {
  std::string title;
  int columns = 4;  // panels per row
  Palette palette = Palette::rocket;
  std::string x_label = "key position";
  std::string y_label = "query position";
};

// Draws heat maps, panel after panel, row by row. The extension decides: .svg, .pdf or .png. Writes
// FILE, and FILE.gnuplot with the data in a folder beside it. Throws Error when gnuplot is missing
// or fails (with what it said), and UsageError for another extension.
void draw_heat_maps(const std::vector<Panel>& panels, const FigureOptions& options,
                    const std::filesystem::path& file);

// Throws UsageError unless the name ends in an extension that draw_heat_maps() knows, and when it
// holds control characters: call it before the work whose result is drawn.
void check_figure_name(const std::filesystem::path& file);

// q-quantile of the finite values, 0 <= q <= 1; NaN when there are none.
double quantile(MatrixView<const float> values, double q);

// Colour of x in [0, 1] as 0xRRGGBB. rocket: black-violet-red-cream, like the paper's; diverging:
// blue-white-red.
unsigned palette_colour(Palette palette, double x);

}  // namespace poslens
