#pragma once
// The gnuplot script of a figure.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "figures/layout.h"
#include "poslens/figure.h"

namespace poslens {

// What the script needs to know of a panel; its values are in a file of little-endian f32, row
// after row, that the script reads.
struct ScriptPanel {
  std::string title;
  std::string data_file;  // relative to the script
  std::size_t rows = 0;   // values in the file
  std::size_t columns = 0;
  std::size_t block = 1;  // positions per value
  std::pair<double, double> range;
  std::vector<double> contours{};  // values where lines are drawn, ascending
};

// terminal: svg, pdf or png. output: file name, relative to the script.
std::string heat_map_script(const std::vector<ScriptPanel>& panels, const FigureOptions& options,
                            const Layout& layout, const std::string& terminal,
                            const std::string& output);

// A gnuplot string: in single quotes nothing is special but the quote itself. Control characters,
// which such a string cannot hold, become blanks.
std::string gnuplot_string(const std::string& text);

}  // namespace poslens
