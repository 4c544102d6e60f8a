#pragma once
// The maps of a cell's groups of sequences, in a file of an analysis' folder until the analysis is
// complete: effects between cells need the groups of all cells, one layer at a time, and a resumed
// analysis does not run finished cells again. Only keys j <= query i are kept.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "poslens/matrix.h"
#include "poslens/score_map.h"

namespace poslens {

class GroupFile {
 public:
  // Writes scores_groups of a map, as [layers, groups, n (n + 1) / 2]; see write_atomically.
  static void write(const ScoreMap& map, const std::filesystem::path& path);

  // groups and the map's layers and length as they must be. Throws Error naming the file when it
  // is not there or of another size.
  GroupFile(std::filesystem::path path, std::int64_t groups, const ScoreMap& map);

  // [groups] maps [n, n] of the layer at this place; NaN where j > i. May be called by several
  // threads at once. Throws Error when the file cannot be read.
  std::vector<Matrix<float>> layer(std::size_t place) const;

 private:
  std::filesystem::path path_;
  std::size_t groups_;
  std::size_t n_;
};

}  // namespace poslens
