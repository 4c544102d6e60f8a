#include "report/group_measures.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "poslens/threads.h"
#include "report/group_file.h"

namespace poslens {
namespace {

using Maps = std::vector<Matrix<float>>;

std::vector<MatrixView<const float>> views(const Maps& maps) {
  std::vector<MatrixView<const float>> result;
  for (const Matrix<float>& map : maps) result.push_back(map.view());
  return result;
}

}  // namespace

std::filesystem::path group_file(const std::filesystem::path& folder, const Cell& cell) {
  return folder / (cell.name + ".groups");
}

void measure_groups(const std::filesystem::path& folder, Analysis& analysis) {
  std::vector<GroupFile> files;
  for (CellResult& result : analysis.cells) {
    files.emplace_back(group_file(folder, result.cell), analysis.groups, result.map);
    result.curves.resize(result.map.layers.size());
  }
  const auto place_of = [&](bool encoded, bool causal) {
    return static_cast<std::size_t>(&analysis.cell(encoded, causal) - analysis.cells.data());
  };
  const std::vector<std::size_t> design = {place_of(true, true), place_of(true, false),
                                           place_of(false, true), place_of(false, false)};
  const std::vector<int>& layers = analysis.cells.front().map.layers;
  analysis.effects.resize(layers.size());
  parallel_for(layers.size(), [&](std::size_t layer, int /*worker*/) {
    std::vector<Maps> kept(files.size());
    for (std::size_t cell = 0; cell < files.size(); ++cell) {
      Maps maps = files[cell].layer(layer);
      CellResult& result = analysis.cells[cell];
      result.curves[layer] = curves_of(result.map.layer(layer), views(maps));
      if (std::find(design.begin(), design.end(), cell) != design.end()) {
        kept[cell] = std::move(maps);
      }
    }
    analysis.effects[layer] = factorial_effects({views(kept[design[0]]), views(kept[design[1]]),
                                                 views(kept[design[2]]), views(kept[design[3]])});
    analysis.effects[layer].layer = layers[layer];
  });
}

}  // namespace poslens
