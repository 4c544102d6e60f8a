#pragma once
// A small line chart as inline SVG, for what a page must show and print without its scripts.

#include <cstddef>
#include <string>
#include <vector>

#include "poslens/estimate.h"

namespace poslens {

enum class ChartScale {
  share,        // 0 to 1, or up to the largest value; printed in per cent
  logarithmic,  // whole powers of ten around all values
  linear,       // round numbers around all values
};

struct ChartLine {
  std::string title;
  std::size_t colour = 0;       // the page's colour of this number
  std::vector<Estimate> value;  // at each of the chart's places; NaN: nothing there
  bool dots = true;             // a dot with the numbers in words, and a bar for the interval
};

struct Chart {
  std::string title;
  ChartScale scale = ChartScale::linear;
  std::string noun = "layer";  // what places are: counted from 1 when layers, else from 0
  std::vector<int> places;     // ascending, from 0; logarithmic unless they are layers
  std::vector<ChartLine> lines;
};

// A figure element. Lines break where there is no value.
std::string draw_chart(const Chart& chart);

// What the lines of a chart stand for.
std::string legend(const std::vector<ChartLine>& lines);

}  // namespace poslens
