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
  std::int64_t chunk_sequences = 0;  // that go through a layer together
  std::int64_t block_tokens = 0;     // that a worker takes through a layer's products together
  LossBlocks loss_blocks;

  int last_layer() const { return layers.back(); }
};

// Throws UsageError when the options do not fit the batch or the memory allowed does not hold one
// sequence, and Error when the batch is malformed.
RunPlan plan_run(const ModelSpec& spec, const TokenBatch& batch, const DecoderOptions& options,
                 int threads);

}  // namespace poslens
