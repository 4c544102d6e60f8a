#pragma once
// What a run does and how it cuts its work, decided before it starts.

#include <cstdint>
#include <vector>

#include "model/loss.h"
#include "poslens/decoder.h"

namespace poslens {

struct RunPlan {
  std::vector<int> layers;           // whose scores are kept
  WorkRange sequences;               // of the batch, that run
  bool loss = false;                 // run through the head
  bool whole_last_layer = false;     // its values and feed-forward too
  int run_layers = 0;                // the first of the model, at least up to the last layer
  std::int64_t pool = 1;             // of the maps
  std::int64_t chunk_sequences = 0;  // that go through a layer together
  std::int64_t block_tokens = 0;     // that a worker takes through a layer's products together
  LossBlocks loss_blocks;

  // Positions whose queries go through attention together, with so many heads each.
  std::int64_t query_rows(std::int64_t group, std::int64_t length, int threads) const;
  int last_layer() const { return layers.back(); }
  // Whether a layer's output is of use to the head, to a later layer or to what is kept.
  bool whole(int layer) const {
    return layer < last_layer() || (layer == last_layer() && whole_last_layer);
  }
};

// Throws UsageError when the options do not fit the batch or the memory allowed does not hold one
// sequence, and Error when the batch is malformed.
RunPlan plan_run(const ModelSpec& spec, const TokenBatch& batch, const DecoderOptions& options,
                 int threads);

}  // namespace poslens
