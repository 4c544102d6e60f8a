#pragma once
// The mean residual stream by position.

#include <cstdint>
#include <vector>

#include "poslens/decoder.h"

namespace poslens {

// One plane [length, width] for what enters each layer asked for, and one for what leaves the last
// of them.
class HiddenSums {
 public:
  // Keeps nothing unless the options ask for it.
  HiddenSums(const DecoderOptions& options, const std::vector<int>& layers, std::int64_t length,
             std::int64_t width);

  // stream: what enters a layer (or leaves the one before), [sequences, length, width]. Sequences
  // are added in order, so sums are the same bits for any thread count and chunk.
  void add(int layer, const float* stream, std::int64_t sequences);

  // Adds the sums to what an interrupted run goes on from.
  void add_to(RunState& state);

  // Divides the sums and hands them over.
  void finish(std::int64_t sequences, ScoreMap& map);

  static std::int64_t bytes(const DecoderOptions& options, std::int64_t layers, std::int64_t length,
                            std::int64_t width);

 private:
  std::vector<int> inputs_;  // layers whose input is kept
  std::int64_t length_;
  std::int64_t width_;
  std::vector<float> sums_;  // [inputs, length, width]
};

}  // namespace poslens
