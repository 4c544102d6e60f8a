#pragma once
// The measures of a whole map, layer by layer.

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "poslens/attention.h"
#include "poslens/decomposition.h"
#include "poslens/estimate.h"
#include "poslens/key_order.h"
#include "poslens/mean_field_distance.h"
#include "poslens/score_map.h"

namespace poslens {

struct LayerMeasures {
  int layer = 0;
  Decomposition all_keys;
  Decomposition without_first_key;
  Estimate nearness;  // nearness_slope()
  Estimate nearness_without_first_key;
  KeyOrder order;
  KeyOrder order_without_first_key;
  Estimate first_key_excess;
  Estimate first_key_excess_without_first_key;  // of key 1
  // Share of the total's sum of squares that leaves with key 0, when rows are centred without it:
  // 1 - total_without_first_key * its pairs / (total * its pairs). 0..1, up to noise.
  Estimate first_key_share;
  MeanFieldDistances mean_field;
  AttentionMeasures softmax;    // of the mean map's softmax
  AttentionMeasures attention;  // of probs; NaN where they were not kept
  // sink_rate() of the heads' mean maps; NaN where heads were not kept. No standard errors: heads
  // have no groups.
  Estimate sink_heads{std::numeric_limits<double>::quiet_NaN()};
  Estimate sink_heads_64{std::numeric_limits<double>::quiet_NaN()};
};

// Of a pooled map, blocks count as positions: the measures are those of what varies over more than
// a block, and `without_first_key` is without the first block.
//
// From the map's groups where it has them, else from its mean. Layers run in parallel. Throws Error
// naming the layer that cannot be measured.
std::vector<LayerMeasures> measure(const ScoreMap& map);

// [layer][head]: the same of each head's mean map, as far as one map without groups tells (no
// standard errors, sampling noise counts as signal); empty where heads were not kept. Throws Error
// naming layer and head.
std::vector<std::vector<LayerMeasures>> measure_heads(const ScoreMap& map);

// Every estimate of a layer with its name in tables and files (docs/metrics.md): total,
// nonrelative, ..., and each again with _without_first_key where it exists.
std::vector<std::pair<std::string, const Estimate*>> named_estimates(const LayerMeasures& measures);
std::vector<std::pair<std::string, Estimate*>> named_estimates(LayerMeasures& measures);

}  // namespace poslens
