#include "model/run_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "model/decoding_sums.h"
#include "model/gram_sums.h"
#include "model/hidden_sums.h"
#include "model/layer_weights.h"
#include "model/pooled_strip.h"
#include "model/score_sums.h"
#include "poslens/error.h"

namespace poslens {
namespace {

constexpr std::int64_t kFloat = sizeof(float);
constexpr std::int64_t kChunkTokens = 8192;  // larger chunks would not run faster

std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

// Widest projections over the layers that run.
struct Widths {
  std::int64_t query = 0;
  std::int64_t key = 0;
  std::int64_t feed_forward = 0;
  std::int64_t weights = 0;  // bytes of a layer
};

Widths widest(const ModelSpec& spec, int layers, std::int64_t element) {
  Widths widths;
  for (int l = 0; l < layers; ++l) {
    const LayerSpec& layer = spec.layers[static_cast<std::size_t>(l)];
    const std::int64_t head_dim = layer.attention.head_dim;
    widths.query = std::max(widths.query, layer.attention.query_heads * head_dim);
    widths.key = std::max(widths.key, layer.attention.key_value_heads * head_dim);
    widths.feed_forward = std::max<std::int64_t>(widths.feed_forward, layer.feed_forward.width);
    widths.weights = std::max(widths.weights, layer_bytes(spec, l, element));
  }
  return widths;
}

void check_batch(const ModelSpec& spec, const TokenBatch& batch) {
  if (batch.length < 1 || batch.ids.empty() || std::ssize(batch.ids) % batch.length != 0) {
    throw Error(fmt::format("tokens: expected whole sequences of {} ids, found {} ids",
                            batch.length, batch.ids.size()));
  }
  for (std::size_t i = 0; i < batch.ids.size(); ++i) {
    if (batch.ids[i] >= 0 && batch.ids[i] < spec.vocabulary) continue;
    const auto length = static_cast<std::size_t>(batch.length);
    throw Error(
        fmt::format("tokens: sequence {}, position {}: expected an id from 0 to {}, found {}",
                    i / length, i % length, spec.vocabulary - 1, batch.ids[i]));
  }
}

void check_positions(const ModelSpec& spec, const TokenBatch& batch) {
  const std::int64_t last = spec.first_position + batch.length;
  if (spec.position_limit == 0 || last <= spec.position_limit) return;
  throw UsageError(fmt::format("--length {}: the model has {} positions, and this needs {}",
                               batch.length, spec.position_limit, last));
}

std::string in_mebibytes(std::int64_t bytes) {
  return fmt::format("{} MiB", round_up(bytes, 1 << 20) >> 20);
}

// Tiles of scores of one worker (see AttentionScratch).
std::int64_t tile_bytes(const ModelSpec& spec, const RunPlan& plan, const DecoderOptions& options,
                        std::int64_t length, std::int64_t element, int threads) {
  std::int64_t most = 0;
  for (int l = 0; l < plan.run_layers; ++l) {
    const AttentionSpec& attention = spec.layers[static_cast<std::size_t>(l)].attention;
    const std::int64_t heads = attention.query_heads;
    const std::int64_t group = heads / attention.key_value_heads;
    const std::int64_t rows = plan.query_rows(group, length, threads);
    const std::int64_t planes =
        (options.per_head ? heads : 1) + (options.probs ? 1 : 0) + (options.variance ? 1 : 0);
    std::int64_t bytes =
        rows * (length * (kFloat * (group + planes) + (element == kFloat ? 0 : element * group)) +
                kFloat * group * (attention.head_dim + 1));
    most = std::max(most, bytes);
  }
  return most;
}

// What pooling keeps of strips: all of them their marginals, a worker's its sequences' blocks.
std::int64_t strip_bytes(const RunPlan& plan, const DecoderOptions& options, std::int64_t length,
                         int threads) {
  if (options.pool == 1) return 0;
  const Strips cut = strips(length, plan.query_rows(1, length, threads), options.pool);
  const std::int64_t marginals = cut.count * (3 * length - 1) * std::int64_t{sizeof(double)};
  const std::int64_t side = (length + options.pool - 1) / options.pool;
  const std::int64_t blocks = std::max<std::int64_t>(1, kChunkTokens / length) *
                              ((cut.rows + options.pool - 1) / options.pool) * side * kFloat;
  return marginals * (options.probs ? 2 : 1) + (options.variance ? threads * blocks : 0);
}

}  // namespace

std::int64_t RunPlan::query_rows(std::int64_t group, std::int64_t length, int threads) const {
  const std::int64_t rows = choose_block_rows(length, group, threads);
  return pool == 1 ? rows : pooled_block_rows(rows, pool);
}

RunPlan plan_run(const ModelSpec& spec, const TokenBatch& batch, const DecoderOptions& options,
                 int threads) {
  options.validate(spec);
  check_batch(spec, batch);
  check_positions(spec, batch);
  if (options.groups > batch.sequences()) {
    throw UsageError(fmt::format("--groups {}: expected at most the number of sequences, {}",
                                 options.groups, batch.sequences()));
  }
  if (options.variance && batch.sequences() < 2) {
    throw UsageError("--variance: expected at least 2 sequences, found 1");
  }
  if (options.pool > batch.length) {
    throw UsageError(fmt::format("--pool {}: expected at most the length of a sequence, {}",
                                 options.pool, batch.length));
  }
  RunPlan plan;
  plan.sequences = options.part.value_or(WorkRange{0, batch.sequences()});
  if (plan.sequences.first < 0 || plan.sequences.size() < 1 ||
      plan.sequences.last > batch.sequences()) {
    throw std::logic_error("a part that is not of the batch");
  }
  options.validate_decode(batch.length, batch.sequences());
  if (options.decode && plan.sequences.size() < batch.sequences()) {
    throw UsageError(
        "--decode: expected no --shard: a fit to some of the sequences is no part of one to all");
  }
  plan.pool = options.pool;
  plan.layers = options.layers;
  if (plan.layers.empty()) {
    plan.layers.resize(spec.layers.size());
    std::iota(plan.layers.begin(), plan.layers.end(), 0);
  }
  if (spec.first_missing_layer && plan.last_layer() >= *spec.first_missing_layer) {
    throw UsageError(fmt::format("--layers {}: the model's file ends with layer {}",
                                 plan.last_layer(), *spec.first_missing_layer - 1));
  }
  plan.loss = options.loss && batch.length > 1 && plan.last_layer() + 1 == std::ssize(spec.layers);

  plan.whole_last_layer = plan.loss || options.hidden || options.decode || options.gram;
  plan.run_layers = GramSums::run_layers(spec, options, plan.last_layer());

  // Enough rows to keep the product kernels busy (wide weights come from memory, and want more),
  // few enough for all threads to have some and for their activations to stay in the cache.
  const std::int64_t most = spec.hidden < 2048 ? 256 : 512;
  const std::int64_t tokens = plan.sequences.size() * batch.length;
  plan.block_tokens = std::clamp<std::int64_t>(round_up(tokens / (4 * threads), 16), 16, most);

  const std::int64_t element = options.compute_type == ComputeType::f32 ? kFloat : 2;
  constexpr std::int64_t kHeadBlockBytes = 8 << 20;
  plan.loss_blocks = {plan.block_tokens,
                      std::clamp<std::int64_t>(kHeadBlockBytes / kFloat / spec.hidden, 64, 2048)};

  const Widths widths = widest(spec, plan.run_layers, element);
  const std::int64_t per_token = spec.hidden * (kFloat + element * (options.gram ? 4 : 1)) +
                                 2 * element * (widths.query + widths.key) +
                                 2 * kFloat * (spec.vocabulary / plan.loss_blocks.vocabulary + 2) +
                                 DecodingSums::token_bytes(options, spec.hidden);
  const std::int64_t per_worker =
      plan.block_tokens *
          (element * (spec.hidden + widths.feed_forward) +
           kFloat * (spec.hidden + widths.query + 2 * widths.key + 2 * widths.feed_forward)) +
      plan.loss_blocks.vocabulary *
          ((kFloat + 2 * element) * spec.hidden + kFloat * plan.block_tokens) +
      tile_bytes(spec, plan, options, batch.length, element, threads);
  const std::int64_t layers = std::ssize(plan.layers);
  const std::int64_t maps =
      ScoreSums::bytes(spec, options, layers, batch.length) +
      HiddenSums::bytes(options, layers, batch.length, spec.hidden) +
      GramSums::bytes(options, layers, batch.length) +
      DecodingSums::bytes(options, layers, batch, spec.hidden, plan.block_tokens, threads);
  const std::int64_t fixed = maps + widths.weights + threads * per_worker +
                             strip_bytes(plan, options, batch.length, threads);
  const std::int64_t per_sequence = per_token * batch.length;
  if (fixed + per_sequence > options.memory_bytes) {
    throw UsageError(fmt::format(
        "--memory {}: expected at least {} for these layers and this length, {} of it for the maps",
        in_mebibytes(options.memory_bytes), in_mebibytes(fixed + per_sequence),
        in_mebibytes(maps)));
  }
  const std::int64_t fitting = (options.memory_bytes - fixed) / per_sequence;
  const std::int64_t useful = std::max<std::int64_t>(1, kChunkTokens / batch.length);
  plan.chunk_sequences = std::min({fitting, useful, plan.sequences.size()});
  return plan;
}

}  // namespace poslens
