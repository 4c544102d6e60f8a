#pragma once
// Maps of any source as one self-contained page: `poslens report`.

#include <string>
#include <string_view>
#include <vector>

#include "poslens/analysis.h"
#include "poslens/score_map.h"

namespace poslens {

// Cells that can be switched between must have the same positions, pooling and layers. Throws Error
// naming both labels and what differs.
void check_same_shape(const ScoreMap& first, std::string_view first_label, const ScoreMap& map,
                      std::string_view label);

// A map, measured, with the curves of its layers; what groups it has are dropped afterwards.
CellResult measured_cell(const std::string& label, ScoreMap map);

struct MapReport {
  std::string html;
  std::string measures_csv;  // the numbers in it, as `analyze` writes them
  std::string curves_csv;
  std::string loss_csv;      // empty where no map has a loss
  std::string decoding_csv;  // empty where no map has decoded positions
};

// The page of `analyze` without its answer in words, which only its own design allows. Labels tell
// the cells apart; title: of the page, empty: after the models or sources there are. Throws Error
// when there are no cells or their maps differ in shape.
MapReport map_report(const std::vector<CellResult>& cells, const std::string& title);

}  // namespace poslens
