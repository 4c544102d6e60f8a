#pragma once
// A map against the published values of a row of panels.

#include <vector>

#include "poslens/reproduce.h"
#include "poslens/score_map.h"
#include "report/paper_figures.h"

namespace poslens {

// One comparison for each layer of the map, which is the row made by theory or simulation; none
// when nothing was published. Throws Error when the published values lack a panel.
std::vector<Comparison> compare(const PaperFigure& figure, const PaperRow& row,
                                const ScoreMap& map);

}  // namespace poslens
