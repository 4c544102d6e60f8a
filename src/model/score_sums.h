#pragma once
// What is kept of a run's scores, as sums while it runs and as a ScoreMap in the end.

#include <cstdint>
#include <vector>

#include "poslens/decoder.h"

namespace poslens {

// Where one layer adds. Each pointer is a map [n, n] of f32 sums; whoever owns a row of the map may
// add to it without locks. Null or empty: not kept.
struct LayerSums {
  std::vector<float*> groups;  // one map per group: scores over sequences and heads
  float* heads = nullptr;      // [heads, n, n]: scores over sequences
  float* probabilities = nullptr;
  float* running_mean = nullptr;  // of the heads' mean score, over the sequences so far
  float* squares = nullptr;       // its sum of squared deviations
};

class ScoreSums {
 public:
  // layers: whose scores are kept. The options' head counts must agree (see finish). sequences:
  // the numbers of those that run.
  ScoreSums(const ModelSpec& spec, const DecoderOptions& options, std::vector<int> layers,
            std::int64_t length, const WorkRange& sequences);

  // Nothing is kept of a layer that was not asked for.
  LayerSums of(int layer);

  // Adds all that is kept to what an interrupted run goes on from.
  void add_to(RunState& state);

  // Divides the sums, hides what the masks hide, and hands the map over.
  ScoreMap finish();

  // Bytes that the maps take.
  static std::int64_t bytes(const ModelSpec& spec, const DecoderOptions& options,
                            std::int64_t layers, std::int64_t length);

 private:
  void finish_layer(std::size_t place);
  std::int64_t group_sequences(std::int64_t group) const;

  const ModelSpec& spec_;
  WorkRange sequences_;
  std::int64_t groups_;
  ScoreMap map_;
  std::vector<float> running_mean_;  // [layers, n, n]
};

}  // namespace poslens
