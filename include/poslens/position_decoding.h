#pragma once
// How well one sample tells positions: the linear fits that a probe makes to states of the residual
// stream (probe --decode) and a simulation to rows of scores (simulate --readout), each tested on
// other samples than it was made on, against what guesses without knowledge come to.

#include <cstdint>
#include <vector>

#include "poslens/estimate.h"
#include "poslens/score_map.h"

namespace poslens {

struct PositionDecoding {
  struct Row {
    int layer = 0;
    bool leaves = false;  // the layer; else what is read enters it, or is its scores
    Estimate r2;          // 1 - mean square error / variance of the positions; <= 1
    Estimate error;       // mean absolute, in positions
  };
  bool of_scores = false;      // of a simulation's readout
  std::int64_t positions = 0;  // m that are told apart, next to each other
  double chance = 0;           // mean error of a position guessed at random: (m^2 - 1) / (3 m)
  double middle = 0;           // of the middle, whose R^2 is 0: (m^2 - (m even ? 0 : 1)) / (4 m)
  std::vector<Row> rows;       // empty where the map has none
};

// Throws Error when a readout does not say how many scores it read (option readout-keys).
PositionDecoding position_decoding(const ScoreMap& map);

}  // namespace poslens
