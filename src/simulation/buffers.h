#pragma once
// What a worker's SIMD kernels read and write.

#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <cstddef>
#include <new>

#include "simulation/block.h"

namespace poslens {

using LaneBuffer = hwy::AlignedFreeUniquePtr<float[]>;

// Zeros; sizes are in lane vectors of up to kMaxLanes floats.
inline LaneBuffer lane_buffer(std::size_t lane_vectors) {
  const std::size_t floats = std::max<std::size_t>(1, lane_vectors) * kMaxLanes;
  LaneBuffer buffer = hwy::AllocateAligned<float>(floats);
  if (!buffer) throw std::bad_alloc();
  std::fill_n(buffer.get(), floats, 0.0f);
  return buffer;
}

// Sums over samples of one quantity, [layers, score_count]: per lane, or over all lanes.
struct LaneSums {
  LaneSums(const Plan& plan, bool wanted)
      : size(wanted ? plan.layers * plan.score_count : 0),
        lane_vectors(plan.lane_sums ? size : size / kMaxLanes + 1),
        values(lane_buffer(lane_vectors)) {}
  void clear() { std::fill_n(values.get(), lane_vectors * kMaxLanes, 0.0f); }

  std::size_t size;
  std::size_t lane_vectors;
  LaneBuffer values;
};

struct BlockBuffers {
  explicit BlockBuffers(const Plan& plan);

  LaneBuffer x;            // U: the residual stream X = diag(scale) U
  LaneBuffer next_x;       // that of the next layer, unless in place
  LaneBuffer rotated;      // x after the rotary encoding, if there is one
  LaneBuffer scale;        // [n]
  LaneBuffer weight;       // [n]: Y = diag(norm_output weight) U
  LaneBuffer next_weight;  // as next_x
  LaneBuffer scores;       // of one panel: scores, then softmax numerators times the keys' weights
  LaneBuffer shared;       // what tokens of a group share: see InputGroup
  // Hidden geometry, [n]: with LayerNorm sqrt(dim) times the mean of X_i, which U lacks; 1 / |X_i|.
  LaneBuffer means, inverse_norms;
  LaneSums score_sums, square_sums, prob_sums;
  LaneBuffer pivots;  // variance: the scores of the block's first sample
  BlockSums sums;
  TakeScores take;
  std::size_t live_lanes = 0;
};

}  // namespace poslens
