#pragma once
// The paper's figures of mean scores, as data: a further one is a further entry of the table.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "poslens/parameter_free.h"

namespace poslens {

// A row of panels, one for each layer.
struct PaperRow {
  std::string name;   // as in the published values and in file names: alpha=0.2
  std::string title;  // as printed
  ParameterFreeSpec spec;
};

struct PaperFigure {
  std::string name;   // fig2
  std::string title;  // of the picture
  std::vector<PaperRow> rows;
  std::pair<double, double> range;   // of the colours
  bool diagonal_normalised = false;  // every row once more below, diagonal-normalised
  std::string_view published;        // CSV; empty: nothing to compare with
};

const std::vector<PaperFigure>& paper_figures();

// What a panel of a row is called in the published values; layer from 0.
std::string panel_name(const PaperRow& row, int layer);

}  // namespace poslens
