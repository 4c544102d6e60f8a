#pragma once
// The paper's figures of mean scores, as data: a further one is a further entry of the table.

#include <cstdint>
#include <optional>
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
  // Of the colours; each panel's 1 % and 99 % quantiles when empty.
  std::optional<std::pair<double, double>> range;
};

struct PaperFigure {
  std::string name;   // fig2
  std::string title;  // of the picture
  std::vector<PaperRow> rows;
  bool drawn = true;                 // else a table
  bool diagonal_normalised = false;  // every row once more below, diagonal-normalised
  std::string_view published{};      // mean scores, CSV; empty: nothing to compare with
  bool recency = false;              // with the recency probability of every panel
  std::string_view published_recency{};
  std::int64_t samples = 100000;  // of each simulation, unless told otherwise
  double seconds = 1;             // with so many samples, about, on two cores
};

const std::vector<PaperFigure>& paper_figures();

// What a panel of a row is called in the published values; layer from 0.
std::string panel_name(const PaperRow& row, int layer);

}  // namespace poslens
