#pragma once
// One block of samples through all layers: the inner interface between simulate() and the SIMD
// kernels, and where tests feed inputs of their own.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "poslens/matrix.h"
#include "simulation/plan.h"

namespace poslens {

// Samples first, first + stride, ..., `count` of them, at most plan.block_samples.
struct BlockSamples {
  std::int64_t first = 0;
  std::int64_t stride = 1;
  std::int64_t count = 0;
  // Inputs in place of random ones, or nullptr: [count, n, dims], the residual stream before the
  // first layer. The triangular engine reads rows up to the diagonal only, and for LayerNorm they
  // have no mean.
  const float* inputs = nullptr;
};

// Sums over a block's samples, [layers, score_count] each where asked for; entries of masked pairs
// mean nothing.
struct BlockSums {
  std::vector<double> scores;
  std::vector<double> squares;
  std::vector<double> probs;
  std::vector<std::int64_t> recency;  // [layers]: pairs (k, j), i > k > j, with S_ik > S_ij
  // Before each layer and after the last, where asked for: |x_i|, and the cosine of x_i and x_j, j
  // <= i, 0 if one of them is zero.
  std::vector<double> hidden_norms;    // [layers + 1, n]
  std::vector<double> hidden_cosines;  // [layers + 1, triangle_size(n)]
  std::vector<std::int64_t> monotone;  // [layers]: rows whose scores increase with the key
};

// Scores of one panel's queries in one layer, of as many samples as there are live lanes.
struct PanelScores {
  std::size_t layer = 0;
  std::size_t panel = 0;
  std::size_t lanes = 0;
  std::size_t live_lanes = 0;  // the first ones
  const float* scores =
      nullptr;  // [keys of the panel, kPanelRows, lanes]; masked ones mean nothing
};
using TakeScores = std::function<void(const PanelScores& scores)>;

struct BlockBuffers;

// Runs blocks one after the other in buffers of its own.
class BlockRunner {
 public:
  explicit BlockRunner(const Plan& plan);
  // Memory that it takes.
  static std::int64_t bytes(const Plan& plan);
  ~BlockRunner();
  BlockRunner(BlockRunner&&) noexcept;

  // take: is given all scores, sample by sample.
  const BlockSums& run(const BlockSamples& samples, const TakeScores& take = {});

 private:
  const Plan* plan_;
  std::unique_ptr<BlockBuffers> buffers_;
};

}  // namespace poslens
