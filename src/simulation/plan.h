#pragma once
// How a simulation is laid out in memory: fixed by its options, the same for every sample.
//
// Tokens go in panels of four rows. A panel holds `width` coordinates of its rows, coordinate after
// coordinate, row after row within one, and for each a vector of SIMD lanes, one sample per lane:
//   x[((panel_offset + coordinate * 4 + row % 4) * lanes + lane].
// In the triangular engine row i has only the coordinates up to the diagonal, so that panels grow.
// Scores of a panel lie key after key, row after row: see score_index().

#include <cstddef>
#include <cstdint>
#include <vector>

#include "poslens/matrix.h"
#include "poslens/simulation.h"

namespace poslens {

constexpr std::size_t kPanelRows = 4;
constexpr std::size_t kMaxLanes = 16;

struct Panel {
  std::size_t rows = 0;          // tokens in it, 1 to 4; the rest of the rows is zero
  std::size_t width = 0;         // coordinates
  std::size_t solid = 0;         // those below it are in all rows, solid + m not in the first m
  std::size_t offset = 0;        // of its coordinates in x, in lane vectors
  std::size_t first_keys = 0;    // the key panels that its queries see in any layer: first_keys ...
  std::size_t last_keys = 0;     // ... last_keys - 1
  std::size_t score_offset = 0;  // of its scores among those of a layer
};

// Keys that a query sees, counted from the first key of its panel: first, first + step, ... below
// last.
struct LocalKeys {
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t step = 1;
};

// The inputs of a group of tokens, before their norm: z_i = g_i + s with a vector s for the group,
//   s = common_weight c + own_weight c_own,  c, c_own among the vectors that tokens share.
struct InputGroup {
  float common_weight = 0;
  float own_weight = 0;
  std::size_t own = 0;       // number of c_own among the shared vectors; that of c is 0
  float gaussian_scale = 0;  // x_i = gaussian_scale z_i, for Gaussian inputs
  std::size_t width = 0;     // coordinates of s that are not zero: the first ones
  std::size_t offset = 0;    // of s among those of all groups, in lane vectors; behind it its mean
};

struct Plan {
  // options: validated.
  explicit Plan(const SimulationOptions& options);

  SimulationOptions options;
  bool triangular = false;
  std::size_t n = 0;
  std::size_t layers = 0;
  std::size_t dims = 0;  // coordinates of a full row; without the mean's in triangular LayerNorm
  // Triangular: coordinates of the vectors that tokens share. They come before the tokens, and are
  // triangular too.
  std::size_t shared = 0;
  std::vector<InputGroup> input_groups;
  std::vector<std::size_t> group_of_token;  // [n]
  std::size_t group_size = 0;               // lane vectors of all groups' s
  bool in_place = false;  // no query sees a later key: a layer overwrites its input, last row first
  std::vector<Panel> panels;
  std::vector<LocalKeys> local_keys;  // [n], or [layers, n] where layers have masks of their own
  std::size_t coordinate_count = 0;   // lane vectors of x
  std::size_t score_count = 0;        // lane vectors of a layer's scores
  std::int64_t block_samples = 0;     // samples that are summed up in one go; a multiple of 16
  bool lane_sums = false;             // sums are kept per lane (faster; small maps only)

  // y = norm_output * x / |x|; S = score_factor * <x_i, x_j> / (|x_i| |x_j|) + slope (j - i). No
  // norm: without |x|.
  double norm_output = 1;
  double score_factor = 1;
  double slope = 0;              // of ALiBi
  double rotary_gain = 1;        // the rotary encoding makes a score at most this much larger
  bool own_score_known = false;  // a query's own score is score_factor, up to the bias
  // A query's own score is the largest that it can have, so that the softmax need not look for it.
  bool own_score_largest = false;
  Matrix<float> cosine, sine;  // rotary encoding of the first coordinates, or empty

  const LocalKeys& keys(std::size_t layer, std::size_t query) const {
    return local_keys[(options.spec.layer_masks.empty() ? 0 : layer * n) + query];
  }
  // Place of pair (query, key) among the scores of a layer; the pair must be visible.
  std::size_t score_index(std::size_t query, std::size_t key) const {
    const Panel& panel = panels[query / kPanelRows];
    return panel.score_offset + (key - panel.first_keys * kPanelRows) * kPanelRows +
           query % kPanelRows;
  }
  // Rows of the residual stream before this layer (from 0) cannot be longer, up to rounding.
  double norm_bound(std::size_t layer) const;
  // Scores of this layer (from 0) cannot be larger in magnitude, up to rounding.
  double score_bound(std::size_t layer) const;

 private:
  void plan_inputs();
};

}  // namespace poslens
