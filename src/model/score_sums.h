#pragma once
// What is kept of a run's scores, as sums while it runs and as a ScoreMap in the end.

#include <cstdint>
#include <string>
#include <vector>

#include "poslens/decoder.h"

namespace poslens {

// Where one layer adds. Each pointer is a map [side, side] of f32 sums; whoever owns a row of the
// map may add to it without locks. Null or empty: not kept.
struct LayerSums {
  std::int64_t pool = 1;       // pairs of a block of pool x pool positions add to one entry
  std::int64_t side = 0;       // n / pool, rounded up
  std::vector<float*> groups;  // one map per group: scores over sequences and heads
  float* heads = nullptr;      // [heads, side, side]: scores over sequences
  float* probabilities = nullptr;
  float* running_mean = nullptr;  // of the heads' mean score, over the sequences so far
  float* squares = nullptr;       // its sum of squared deviations
  // Of a pooled layer, sums by row [n], column [n] and lag [2 n - 1] (pooled_strip.h).
  double* score_profiles = nullptr;
  double* probability_profiles = nullptr;
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
  void finish_profiles(const std::string& what, std::vector<double>& sums);

  const ModelSpec& spec_;
  WorkRange sequences_;
  std::int64_t groups_;
  ScoreMap map_;
  std::vector<float> running_mean_;                            // [layers, side, side]
  std::vector<double> score_profiles_, probability_profiles_;  // [layers, 4 n - 1]; empty: none
};

}  // namespace poslens
