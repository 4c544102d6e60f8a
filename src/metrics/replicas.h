#pragma once
// The mean map of all groups and those that leave one group out, for measures that are not linear
// in the map.

#include <cstddef>
#include <vector>

#include "poslens/estimate.h"
#include "poslens/matrix.h"

namespace poslens {

class Replicas {
 public:
  // Views of one shape; they must outlive this.
  explicit Replicas(std::vector<MatrixView<const float>> groups) : groups_(std::move(groups)) {}

  // 1 + number of groups; 1 where no group can be left out.
  std::size_t count() const { return groups_.size() < 2 ? 1 : 1 + groups_.size(); }

  // Elements first..last-1 of row i of the mean map: of all groups for replica 0, without group
  // k - 1 for replica k. In single precision, so that equal scores stay equal.
  void row(std::size_t replica, std::size_t i, std::size_t first, std::size_t last,
           std::vector<float>& out) const;

  // values[replica] of a measure.
  static Estimate estimate(const std::vector<double>& values);

 private:
  std::vector<MatrixView<const float>> groups_;
};

}  // namespace poslens
