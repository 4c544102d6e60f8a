#pragma once
// Where the panels of a figure stand. Lengths in points, from the top left corner.

#include <cstddef>
#include <string>
#include <vector>

#include "poslens/figure.h"

namespace poslens {

struct Layout {
  std::size_t columns = 1;
  std::size_t rows = 1;
  bool shared_bar = false;  // one colour bar for all, beside the grid
  double em = 8;            // font size, the unit of all margins
  double panel = 132;       // side
  double step_x = 0;        // from panel to panel
  double step_y = 0;
  double left = 0;  // of the first panel
  double top = 0;   // of the first row's title
  double width = 0;
  double height = 0;
  std::vector<std::string> title;  // in lines that fit the width, unless a word does not
};

struct Box {
  double left, right, bottom, top;  // parts of the figure, from below
};

// Throws UsageError when options.width leaves a panel no room.
Layout layout_of(std::size_t panels, bool shared_bar, const FigureOptions& options);

Box panel_box(const Layout& layout, std::size_t row, std::size_t column);
Box bar_box(const Layout& layout, std::size_t row, std::size_t column);

// How far below the upper edge a line of the figure's title stands in the middle.
double title_place(const Layout& layout, std::size_t line);

}  // namespace poslens
