#pragma once
// The panels of a map's figure.

#include <string>
#include <vector>

#include "poslens/figure.h"
#include "poslens/score_map.h"

namespace poslens {

struct MapFigureOptions {
  std::string array = "scores";      // one of drawable_arrays(); names as in docs/formats.md
  std::vector<int> layers{};         // numbers, from 0; empty: all
  std::vector<int> heads{};          // of scores_heads; empty: all
  bool diagonal_normalised = false;  // else raw
};

// The arrays of [layers, n, n] that the map has: scores, probs, variance, scores_heads,
// hidden_cosine (what enters each layer, and what leaves the last), gram_STAGE.
std::vector<std::string> drawable_arrays(const ScoreMap& map);

// A panel for each layer (and head), in that order; minus: what is taken off, pair by pair, first.
// Throws UsageError naming the option when the map has no such array, layer or head, and Error when
// the two maps differ in positions, pooling or stage.
std::vector<Panel> map_panels(const ScoreMap& map, const MapFigureOptions& options,
                              const ScoreMap* minus = nullptr);

// In words: whose map it is, what is drawn, and the mean of how many samples.
std::string map_figure_title(const ScoreMap& map, const MapFigureOptions& options, bool difference);

}  // namespace poslens
