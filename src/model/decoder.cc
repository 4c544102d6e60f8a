#include "poslens/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "model/attention.h"
#include "model/buffer.h"
#include "model/decoding_sums.h"
#include "model/gram_sums.h"
#include "model/hidden_sums.h"
#include "model/layer_weights.h"
#include "model/linear.h"
#include "model/loss.h"
#include "model/run_plan.h"
#include "model/score_sums.h"
#include "poslens/error.h"
#include "poslens/progress.h"
#include "poslens/threads.h"
#include "simd/layer_kernels.h"

namespace poslens {
namespace {

std::size_t size_of(std::int64_t value) { return static_cast<std::size_t>(value); }

// What a worker needs to take a block of tokens through a layer's products.
template <typename T>
struct BlockScratch {
  Buffer<T> normed;          // [block, hidden]
  LeftFactor<T> from_norm;   // normed
  Buffer<float> query;       // [block, query_heads * head_dim]
  Buffer<float> key, value;  // [block, key_value_heads * head_dim]
  Buffer<float> gate, up;    // [block, panel of the feed-forward's width]
  Buffer<T> activated;       // the same
  LeftFactor<T> factor;      // activated, or rows of attention's output
  Buffer<float> added;       // [block, hidden], what a part adds to the stream, to be normed
};

// One run in one compute type. A chunk of sequences passes through all layers; within a layer,
// workers take blocks of tokens through the products before attention, then blocks of query rows
// through attention, then blocks of tokens through the rest of the layer.
template <typename T>
class Runner {
 public:
  Runner(const Checkpoint& checkpoint, const ModelSpec& spec, const TokenBatch& batch,
         const RunPlan& plan, int threads, ScoreSums& sums, HiddenSums& hidden,
         DecodingSums& decoding, GramSums& gram, std::vector<double>& loss)
      : checkpoint_(checkpoint),
        spec_(spec),
        batch_(batch),
        plan_(plan),
        sums_(sums),
        hidden_(hidden),
        decoding_(decoding),
        gram_(gram, batch.length),
        loss_(loss),
        products_(size_of(threads)),
        scratch_(size_of(threads)),
        attention_scratch_(size_of(threads)),
        loss_scratch_(size_of(threads)) {}

  // From the sequence state.done of the part on.
  void run(RunState& state, const RunHooks& hooks) {
    const WorkRange& part = plan_.sequences;
    Progress progress("running the model",
                      static_cast<double>((part.size() - state.done) * batch_.length), "tokens");
    const int layers = plan_.run_layers;
    const int steps = layers + (plan_.loss ? 1 : 0);
    for (first_ = part.first + state.done; first_ < part.last; first_ += sequences_) {
      sequences_ =
          decoding_.start_chunk(state.done, std::min(plan_.chunk_sequences, part.last - first_));
      const double step = static_cast<double>(tokens()) / steps;
      embed();
      for (int layer = 0; layer < layers; ++layer) {
        observe_stream(layer);
        run_layer(layer);
        progress.advance(step);
      }
      observe_stream(layers);
      if (plan_.loss) {
        run_head();
        progress.advance(step);
      }
      state.done += sequences_;
      if (hooks.save && state.done < part.size()) hooks.save(state);
    }
  }

 private:
  std::int64_t tokens() const { return sequences_ * batch_.length; }
  std::span<const std::int32_t> ids() const {
    const std::span<const std::int32_t> all = batch_.ids;
    return all.subspan(size_of(first_ * batch_.length), size_of(tokens()));
  }
  // Tokens in whole blocks: the last block may have rows that nobody reads.
  std::int64_t padded_tokens() const { return blocks() * plan_.block_tokens; }
  std::int64_t blocks() const { return (tokens() + plan_.block_tokens - 1) / plan_.block_tokens; }

  void embed() {
    const TensorEntry& embedding =
        checkpoint_.require(spec_.embedding, {spec_.vocabulary, spec_.hidden});
    const TensorEntry* positions =
        spec_.learned_positions.empty()
            ? nullptr
            : &checkpoint_.require(spec_.learned_positions, {spec_.position_limit, spec_.hidden});
    const NormWeights norm = load_norm(checkpoint_, spec_.embedding_norm, spec_.hidden);
    stream_.resize(size_of(padded_tokens() * spec_.hidden));
    const std::span<const std::int32_t> chunk = ids();
    parallel_for(size_of(blocks()), [&](std::size_t block, int) {
      std::vector<float> position(size_of(spec_.hidden));
      const std::int64_t first = static_cast<std::int64_t>(block) * plan_.block_tokens;
      for (std::int64_t t = first; t < std::min(first + plan_.block_tokens, tokens()); ++t) {
        const std::span<float> row = stream_row(t);
        expand_rows(embedding, chunk[size_of(t)], 1, row);
        if (spec_.embedding_scale != 1) {
          simd::convert(row, static_cast<float>(spec_.embedding_scale), row);
        }
        if (positions != nullptr) {
          expand_rows(*positions, spec_.first_position + t % batch_.length, 1, position);
          simd::add_scaled(position, 1, row);
        }
        if (norm.kind != NormSpec::Kind::none) apply_norm<float>(norm, row, row);
      }
    });
  }

  // What enters a layer, or leaves the one before.
  void observe_stream(int layer) {
    hidden_.add(layer, stream_.data(), sequences_);
    decoding_.add(layer, stream_.data(), sequences_, products_);
  }

  void run_layer(int number) {
    const LayerSpec& layer = spec_.layers[size_of(number)];
    const LayerSums sums = sums_.of(number);
    const bool whole = plan_.whole(number);
    load_layer(checkpoint_, spec_, number, whole ? LayerPart::whole : LayerPart::scores, weights_);
    prepare_attention(layer.attention);
    gram_.start(number, sequences_, padded_tokens(), spec_.hidden);
    parallel_for(size_of(blocks()), [&](std::size_t block, int worker) {
      project(layer.attention, static_cast<std::int64_t>(block), worker, whole);
    });
    gram_.add(GramStage::attention_input, products_);
    gram_.add_query_key(shape_, layer.attention.mask, queries_.data(), keys_.data(), products_);
    if (!whole && sums.groups.empty()) return;
    AttentionJob<T> job;
    job.shape = shape_;
    job.mask = layer.attention.mask;
    job.sequences = sequences_;
    job.first_sequence = first_;
    job.earlier = first_ - plan_.sequences.first;
    job.queries = queries_.data();
    job.softcap = static_cast<float>(layer.attention.softcap);
    job.bias = bias_.view();
    job.keys = keys_.data();
    job.values = whole ? values_.data() : nullptr;
    job.output = attended_.data();
    job.sums = sums;
    attend(job, attention_scratch_, products_);
    if (!whole) return;
    gram_.add(GramStage::heads, attended_.data(), query_width(), products_);
    parallel_for(size_of(blocks()), [&](std::size_t block, int worker) {
      finish_block(layer, static_cast<std::int64_t>(block), worker);
    });
    gram_.add(GramStage::attention_output, products_);
    gram_.add(GramStage::attention_residual, products_);
    gram_.add(GramStage::feed_forward_input, products_);
    gram_.keep(GramStage::layer_output, 0, stream_.all());
    gram_.add(GramStage::layer_output, products_);
  }

  void prepare_attention(const AttentionSpec& attention) {
    shape_ = {.length = batch_.length,
              .query_heads = attention.query_heads,
              .key_value_heads = attention.key_value_heads,
              .head_dim = attention.head_dim};
    shape_.block_rows = plan_.query_rows(shape_.group(), batch_.length, thread_count());
    queries_.resize(size_of(tokens() * query_width()));
    keys_.resize(size_of(tokens() * key_width()));
    values_.resize(size_of(tokens() * key_width()));
    attended_.resize(size_of(padded_tokens() * query_width()));
    bias_ = attention.alibi ? alibi_bias(*attention.alibi, attention.query_heads, batch_.length)
                            : Matrix<float>();
    std::optional<RotarySpec> rotary;
    if (attention.rotary) {
      rotary =
          scaled(*attention.rotary, attention.rope_scaling, spec_.first_position + batch_.length);
    }
    if (table_spec_ == rotary) return;
    table_ = rotary ? rotary_table(*rotary, spec_.first_position, batch_.length) : RotaryTable();
    table_spec_ = rotary;
  }

  std::int64_t query_width() const { return shape_.query_heads * shape_.head_dim; }
  std::int64_t key_width() const { return shape_.key_value_heads * shape_.head_dim; }

  // Norm, query, key and value of a block of tokens, rotated and put where attention wants them.
  void project(const AttentionSpec& attention, std::int64_t block, int worker, bool with_values) {
    BlockScratch<T>& own = scratch_[size_of(worker)];
    norm_block(block, weights_.attention_norm, own);
    gram_.keep(GramStage::attention_input, block * plan_.block_tokens, own.normed.all());
    apply(weights_.query, own.from_norm, own.query, worker);
    apply(weights_.key, own.from_norm, own.key, worker);
    if (with_values) apply(weights_.value, own.from_norm, own.value, worker);
    if (attention.clip != 0) {
      for (Buffer<float>* heads : {&own.query, &own.key, &own.value}) {
        simd::clip(heads->part(0, heads->size()), static_cast<float>(attention.clip));
      }
    }
    norm_heads(weights_.query_norm, attention, shape_.query_heads, own.query);
    norm_heads(weights_.key_norm, attention, shape_.key_value_heads, own.key);
    const std::int64_t first = block * plan_.block_tokens;
    for (std::int64_t t = first; t < std::min(first + plan_.block_tokens, tokens()); ++t) {
      const std::int64_t sequence = t / batch_.length;
      const std::int64_t position = t % batch_.length;
      for (std::int64_t head = 0; head < shape_.query_heads; ++head) {
        turn(attention, position, head_of(own.query, t - first, query_width(), head),
             static_cast<float>(attention.scale),
             queries_.data() + shape_.query_offset(sequence, head, position));
      }
      for (std::int64_t head = 0; head < shape_.key_value_heads; ++head) {
        const std::int64_t offset = shape_.key_offset(sequence, head, position);
        turn(attention, position, head_of(own.key, t - first, key_width(), head), 1,
             keys_.data() + offset);
        if (with_values) {
          const auto value = head_of(own.value, t - first, key_width(), head);
          simd::convert(value, 1, std::span(values_.data() + offset, value.size()));
        }
      }
    }
  }

  std::span<const float> head_of(const Buffer<float>& rows, std::int64_t row, std::int64_t width,
                                 std::int64_t head) const {
    return rows.part(size_of(row * width + head * shape_.head_dim), size_of(shape_.head_dim));
  }

  void turn(const AttentionSpec& attention, std::int64_t position, std::span<const float> head,
            float scale, T* out) const {
    const std::span<T> to(out, head.size());
    if (!attention.rotary) {
      simd::convert(head, scale, to);
      return;
    }
    simd::rotate(head, table_.cosine.row(size_of(position)), table_.sine.row(size_of(position)),
                 attention.rotary_pairs == RotaryPairs::interleaved, scale, to);
  }

  // In place, on [block, heads * head_dim].
  void norm_heads(const NormWeights& norm, const AttentionSpec& attention, std::int64_t heads,
                  Buffer<float>& rows) const {
    if (norm.kind == NormSpec::Kind::none) return;
    const std::int64_t width = shape_.head_dim * (attention.norm_spans_heads ? heads : 1);
    const bool per_head = !attention.norm_spans_heads && std::ssize(norm.weight) > width;
    for (std::int64_t part = 0; part * width < std::ssize(rows); ++part) {
      const std::span<float> values = rows.part(size_of(part * width), size_of(width));
      apply_norm<float>(norm, values, values, size_of(per_head ? part % heads * width : 0));
    }
  }

  // Output projection and feed-forward of a block of tokens, added to the residual stream.
  void finish_block(const LayerSpec& layer, std::int64_t block, int worker) {
    BlockScratch<T>& own = scratch_[size_of(worker)];
    const std::int64_t first = block * plan_.block_tokens;
    if (layer.residual == Residual::parallel) norm_block(block, weights_.feed_forward_norm, own);
    if (layer.residual == Residual::from_norm) norm_stream(block, weights_.attention_norm);
    Products& products = products_[size_of(worker)];
    own.factor.set(plan_.block_tokens, attended_.data() + first * query_width());
    add_to_stream(weights_.attention_output_norm, weights_.output.bias, block, own, gram_.wanted(),
                  [&](bool accumulate, float* y) {
                    products.run(own.factor, weights_.output.matrix, 0, accumulate, y);
                  });
    gram_.keep(
        GramStage::attention_residual, first,
        stream_.part(size_of(first * spec_.hidden), size_of(plan_.block_tokens * spec_.hidden)));
    if (layer.residual == Residual::from_norm) {
      norm_stream(block, weights_.feed_forward_norm);
      norm_block(block, {}, own);
    }
    if (layer.residual == Residual::sequential) norm_block(block, weights_.feed_forward_norm, own);
    gram_.keep(GramStage::feed_forward_input, first, own.normed.all());
    // Panel by panel of its width, so that what is between the products stays in the cache.
    add_to_stream(weights_.feed_forward_output_norm, weights_.down.bias, block, own, false,
                  [&](bool accumulate, float* y) {
                    for (std::int64_t panel = 0; panel < weights_.down.matrix.panels(); ++panel) {
                      activate(layer.feed_forward, panel, own, products);
                      own.factor.set(plan_.block_tokens, own.activated.data());
                      products.run(own.factor, weights_.down.matrix, panel, accumulate || panel > 0,
                                   y);
                    }
                  });
  }

  // own.activated from own.normed.
  void activate(const FeedForwardSpec& spec, std::int64_t panel, BlockScratch<T>& own,
                Products& products) {
    const std::size_t size = size_of(plan_.block_tokens * weights_.up.matrix.panel_outputs(panel));
    if (own.activated.size() < size) own.activated.resize(size);
    const auto rows_of = [&](const LinearWeights<T>& weights, Buffer<float>& y) {
      if (y.size() < size) y.resize(size);
      products.run(own.from_norm, weights.matrix, panel, false, y.data());
      if (!weights.bias.empty()) {
        const std::span<const float> bias = weights.bias;
        add_bias(bias.subspan(size_of(weights.matrix.first_output(panel)),
                              size_of(weights.matrix.panel_outputs(panel))),
                 y.data());
      }
      return std::span<const float>(y.data(), size);
    };
    const std::span<const float> up = rows_of(weights_.up, own.up);
    const std::span<const float> inner = spec.gated() ? rows_of(weights_.gate, own.gate) : up;
    const std::span<const float> factor = spec.gated() ? up : std::span<const float>();
    const std::span<T> out = own.activated.part(0, size);
    switch (spec.activation) {
      case Activation::silu:
        simd::silu_multiply(inner, factor, out);
        break;
      case Activation::gelu:
        simd::gelu_multiply(inner, factor, out);
        break;
      case Activation::gelu_tanh:
        simd::gelu_tanh_multiply(inner, factor, out);
        break;
    }
  }

  std::span<float> stream_row(std::int64_t token) {
    return stream_.part(size_of(token * spec_.hidden), size_of(spec_.hidden));
  }

  // The normed rows of a block of tokens.
  void norm_rows(std::int64_t block, const NormWeights& norm, T* out) {
    const std::int64_t first = block * plan_.block_tokens;
    for (std::int64_t row = 0; row < plan_.block_tokens; ++row) {
      apply_norm<T>(norm, stream_row(first + row),
                    std::span(out + row * spec_.hidden, size_of(spec_.hidden)));
    }
  }

  void norm_block(std::int64_t block, const NormWeights& norm, BlockScratch<T>& own) {
    own.normed.resize(size_of(plan_.block_tokens * spec_.hidden));
    norm_rows(block, norm, own.normed.data());
    own.from_norm.set(plan_.block_tokens, own.normed.data());
  }

  // The residual stream itself becomes its norm.
  void norm_stream(std::int64_t block, const NormWeights& norm) {
    const std::int64_t first = block * plan_.block_tokens;
    for (std::int64_t row = 0; row < plan_.block_tokens; ++row) {
      apply_norm<float>(norm, stream_row(first + row), stream_row(first + row));
    }
  }

  // y = x W^T + b for a block of tokens.
  void apply(const LinearWeights<T>& weights, LeftFactor<T>& x, Buffer<float>& y, int worker) {
    y.resize(size_of(plan_.block_tokens * weights.matrix.outputs()));
    products_[size_of(worker)].run(x, weights.matrix, 0, false, y.data());
    add_bias(weights.bias, y.data());
  }

  // stream += norm(x W^T + b), where product(accumulate, y) makes y = x W^T, or y += x W^T.
  template <typename Product>
  void add_to_stream(const NormWeights& norm, std::span<const float> bias, std::int64_t block,
                     BlockScratch<T>& own, bool keeps, const Product& product) {
    const std::size_t size = size_of(plan_.block_tokens * spec_.hidden);
    const std::span<float> rows = stream_.part(size_of(block) * size, size);
    if (norm.kind == NormSpec::Kind::none && !keeps) {
      product(true, rows.data());
      add_bias(bias, rows.data());
      return;
    }
    own.added.resize(size);
    product(false, own.added.data());
    add_bias(bias, own.added.data());
    if (keeps) {
      gram_.keep(GramStage::attention_output, block * plan_.block_tokens, own.added.all());
    }
    for (std::int64_t row = 0; row < plan_.block_tokens; ++row) {
      const auto values = own.added.part(size_of(row * spec_.hidden), size_of(spec_.hidden));
      apply_norm<float>(norm, values, values);
    }
    simd::add_scaled(own.added.all(), 1, rows);
  }

  // To each row of a block.
  void add_bias(std::span<const float> bias, float* rows) const {
    if (bias.empty()) return;
    for (std::int64_t row = 0; row < plan_.block_tokens; ++row) {
      simd::add_scaled(bias, 1, {rows + row * std::ssize(bias), bias.size()});
    }
  }

  void run_head() {
    final_.resize(size_of(padded_tokens() * spec_.hidden));
    const NormWeights norm = load_norm(checkpoint_, spec_.final_norm, spec_.hidden);
    parallel_for(size_of(blocks()), [&](std::size_t block, int) {
      const auto number = static_cast<std::int64_t>(block);
      norm_rows(number, norm, final_.data() + number * plan_.block_tokens * spec_.hidden);
    });
    const Buffer<T>& states = final_;
    add_loss(checkpoint_, spec_, plan_.loss_blocks, batch_.length, states.part(0, states.size()),
             ids(), loss_scratch_, products_, loss_);
  }

  const Checkpoint& checkpoint_;
  const ModelSpec& spec_;
  const TokenBatch& batch_;
  const RunPlan& plan_;
  ScoreSums& sums_;
  HiddenSums& hidden_;
  DecodingSums& decoding_;
  GramRows<T> gram_;
  std::vector<double>& loss_;

  std::int64_t first_ = 0;      // the chunk's first sequence
  std::int64_t sequences_ = 0;  // of the chunk
  Buffer<float> stream_;        // [tokens, hidden], the residual stream
  Buffer<T> queries_, keys_, values_;
  Buffer<T> attended_;  // [tokens, query_heads * head_dim]
  Buffer<T> final_;     // [tokens, hidden], normed
  LayerWeights<T> weights_;
  AttentionShape shape_;
  RotaryTable table_;
  std::optional<RotarySpec> table_spec_;  // of table_
  Matrix<float> bias_;                    // [query_heads, length], or empty

  std::vector<Products> products_;  // one each per worker
  std::vector<BlockScratch<T>> scratch_;
  std::vector<AttentionScratch<T>> attention_scratch_;
  std::vector<LossScratch<T>> loss_scratch_;
};

}  // namespace

ScoreMap run_decoder(const Checkpoint& checkpoint, const ModelSpec& spec, const TokenBatch& batch,
                     const DecoderOptions& options, const RunHooks& hooks) {
  const int threads = thread_count();
  const RunPlan plan = plan_run(spec, batch, options, threads);
  const std::int64_t sequences = plan.sequences.size();
  ScoreSums sums(spec, options, plan.layers, batch.length, plan.sequences);
  HiddenSums hidden(options, plan.layers, batch.length, spec.hidden);
  DecodingSums decoding(options, plan.layers, batch, spec.hidden, plan.block_tokens);
  GramSums gram(spec, options, plan.layers, batch.length);
  std::vector<double> loss(plan.loss ? size_of(batch.length - 1) : 0);
  RunState state;
  sums.add_to(state);
  hidden.add_to(state);
  decoding.add_to(state);
  gram.add_to(state);
  if (plan.loss) state.arrays.push_back({"loss", std::span(loss)});
  if (hooks.start) hooks.start(state);
  if (options.compute_type == ComputeType::f32) {
    Runner<float>(checkpoint, spec, batch, plan, threads, sums, hidden, decoding, gram, loss)
        .run(state, hooks);
  } else {
    Runner<simd::BFloat16>(checkpoint, spec, batch, plan, threads, sums, hidden, decoding, gram,
                           loss)
        .run(state, hooks);
  }
  ScoreMap map = sums.finish();
  hidden.finish(sequences, map);
  decoding.finish(map);
  gram.finish(sequences, map);
  for (double& value : loss) value /= static_cast<double>(sequences);
  map.loss = std::move(loss);
  map.provenance.averaging = fmt::format("mean over {} sequences and all heads", sequences);
  return map;
}

}  // namespace poslens
