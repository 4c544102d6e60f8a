#pragma once
// Runs a ModelSpec over sequences of equal length, layer by layer, and hands scores to an observer.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "poslens/checkpoint.h"
#include "poslens/model_spec.h"
#include "poslens/run_parts.h"
#include "poslens/run_state.h"
#include "poslens/score_map.h"

namespace poslens {

enum class ComputeType { f32, bf16 };  // of matrix products; everything else is f32
std::string to_string(ComputeType type);

struct DecoderOptions {
  ComputeType compute_type = ComputeType::f32;
  std::vector<int> layers{};  // whose scores are kept, ascending; empty: all
  std::int64_t groups = 1;    // sequence s of the batch adds to group s mod groups
  bool per_head = false;
  bool probs = false;
  bool variance = false;  // over sequences (divided by their number - 1), of the mean over heads
  bool hidden = false;    // the mean residual stream: what enters each of `layers`, and what leaves
                          // the last of them
  bool decode = false;    // how well a token's state tells its position, at the same places; needs
                          // 4 sequences of 3 tokens, all in one run
  std::int64_t decode_width = 1024;  // states of more dimensions are projected to so many for that
  bool gram = false;                 // Gram maps of `layers` (gram.h)
  std::int64_t pool = 1;  // maps are means over pool x pool blocks of pairs; 1: not pooled
  std::optional<WorkRange> part{};  // run these of the batch's sequences alone
  bool loss = true;                 // ignored unless the last layer is among `layers`
  std::int64_t memory_bytes = std::int64_t{4} << 30;  // decides how many sequences go together

  // Throws UsageError naming the option, the value and what is allowed.
  void validate(const ModelSpec& spec) const;
  // The same for what `decode` needs.
  void validate_decode(std::int64_t length, std::int64_t sequences) const;
};

// Token ids, sequence after sequence, each of `length`.
struct TokenBatch {
  std::int64_t length = 0;
  std::vector<std::int32_t> ids;
  std::int64_t sequences() const { return length == 0 ? 0 : std::ssize(ids) / length; }
};

// For a run that may be interrupted: called between chunks of sequences with views of its sums.
struct RunHooks {
  std::function<void(RunState& state)> start;       // before the first; may fill them: go on there
  std::function<void(const RunState& state)> save;  // after each but the last
};

// Mean scores over sequences and heads at their last stage before the mask, source model; with
// groups > 1 scores_groups too. Stops after the last layer asked for. Throws Error on token ids
// outside of the vocabulary and when a weight cannot be read. The same bits for the same thread
// count.
ScoreMap run_decoder(const Checkpoint& checkpoint, const ModelSpec& spec, const TokenBatch& batch,
                     const DecoderOptions& options, const RunHooks& hooks = {});

}  // namespace poslens
