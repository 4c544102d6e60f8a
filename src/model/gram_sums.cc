#include "model/gram_sums.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "poslens/threads.h"

namespace poslens {
namespace {

std::size_t size_of(std::int64_t value) { return static_cast<std::size_t>(value); }

void add_rows(std::span<const float> rows, std::span<float> sum) { simd::add_scaled(rows, 1, sum); }
void add_rows(std::span<const simd::BFloat16> rows, std::span<float> sum) {
  for (std::size_t k = 0; k < rows.size(); ++k) {
    sum[k] += std::bit_cast<float>(std::uint32_t{rows[k].bits} << 16);
  }
}

bool is_score(GramStage stage) {
  return stage == GramStage::query_key || stage == GramStage::next_query_key;
}

// Rows that a worker takes at once: enough for the products, few enough for all threads.
std::int64_t block_rows(std::int64_t length) {
  const std::int64_t share = length / (4 * thread_count());
  return std::clamp<std::int64_t>(share / 16 * 16, 16, 128);
}

// Workers take blocks of `step` rows, the last first, since it sees the most keys. make(first,
// rows, keys, worker, tile) fills a tile [rows, keys], which is added to the maps.
void add_blocks(std::int64_t length, std::int64_t step, const std::vector<float*>& targets,
                const std::function<std::int64_t(std::int64_t first, std::int64_t rows)>& keys_of,
                const std::function<void(std::int64_t first, std::int64_t rows, std::int64_t keys,
                                         std::size_t worker, float* tile)>& make) {
  const std::int64_t blocks = (length + step - 1) / step;
  std::vector<Buffer<float>> tiles(size_of(thread_count()));
  parallel_for(size_of(blocks), [&](std::size_t index, int worker) {
    const std::int64_t first = (blocks - 1 - static_cast<std::int64_t>(index)) * step;
    const std::int64_t rows = std::min(step, length - first);
    const std::int64_t keys = keys_of(first, rows);
    Buffer<float>& tile = tiles[size_of(worker)];
    if (tile.size() == 0) tile.resize(size_of(step * length));
    make(first, rows, keys, size_of(worker), tile.data());
    for (float* target : targets) {
      for (std::int64_t r = 0; r < rows; ++r) {
        simd::add_scaled(tile.part(size_of(r * keys), size_of(keys)), 1,
                         {target + (first + r) * length, size_of(keys)});
      }
    }
  });
}

// Keys 0 to `last` - 1, widened so that products come in few shapes.
std::int64_t widened(std::int64_t last, std::int64_t length) {
  return std::min(length, (last + 63) / 64 * 64);
}

}  // namespace

GramSums::GramSums(const ModelSpec& spec, const DecoderOptions& options, std::vector<int> layers,
                   std::int64_t length)
    : spec_(spec), length_(length) {
  if (!options.gram) return;
  layers_ = std::move(layers);
  for (std::vector<float>& maps : sums_) {
    maps.assign(layers_.size() * size_of(length * length), 0);
  }
}

std::vector<float*> GramSums::targets(GramStage stage, int layer) {
  std::vector<float*> targets;
  const auto add = [&](GramStage added, int number) {
    const auto found = std::find(layers_.begin(), layers_.end(), number);
    if (found == layers_.end()) return;
    targets.push_back(sums(added).data() + (found - layers_.begin()) * length_ * length_);
  };
  add(stage, layer);
  if (stage == GramStage::attention_input) add(GramStage::next_attention_input, layer - 1);
  if (stage == GramStage::query_key) add(GramStage::next_query_key, layer - 1);
  return targets;
}

void GramSums::finish_layer(std::size_t place, std::int64_t sequences) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  const auto count = static_cast<int>(spec_.layers.size());
  for (std::size_t s = 0; s < sums_.size(); ++s) {
    const auto stage = static_cast<GramStage>(s);
    const bool next = stage >= GramStage::next_attention_input;
    const int layer = layers_[place] + (next ? 1 : 0);
    float* map = sums_[s].data() + place * size_of(length_ * length_);
    if (layer == count) {
      std::fill_n(map, length_ * length_, kNone);
      continue;
    }
    const AttentionSpec& attention = spec_.layers[size_of(layer)].attention;
    const double samples =
        static_cast<double>(sequences) * (is_score(stage) ? attention.query_heads : 1);
    for (std::int64_t i = 0; i < length_; ++i) {
      for (std::int64_t j = 0; j < length_; ++j) {
        float& value = map[i * length_ + j];
        if (is_score(stage) ? !attention.mask.visible(i, j) : j > i) {
          value = kNone;
        } else {
          value = static_cast<float>(value / samples);
          if (!is_score(stage)) map[j * length_ + i] = value;
        }
      }
    }
  }
}

void GramSums::add_to(RunState& state) {
  if (layers_.empty()) return;
  for (std::size_t stage = 0; stage < sums_.size(); ++stage) {
    state.arrays.push_back({std::string("gram_") + kGramNames[stage], std::span(sums_[stage])});
  }
}

void GramSums::finish(std::int64_t sequences, ScoreMap& map) {
  if (layers_.empty()) return;
  parallel_for(layers_.size(), [&](std::size_t place, int) { finish_layer(place, sequences); });
  for (std::size_t stage = 0; stage < sums_.size(); ++stage) {
    map.gram[kGramNames[stage]] = std::move(sums_[stage]);
  }
}

int GramSums::run_layers(const ModelSpec& spec, const DecoderOptions& options, int last_layer) {
  return std::min(static_cast<int>(spec.layers.size()), last_layer + 1 + (options.gram ? 1 : 0));
}

std::int64_t GramSums::bytes(const DecoderOptions& options, std::int64_t layers,
                             std::int64_t length) {
  if (!options.gram) return 0;
  return std::ssize(kGramNames) * layers * length * length * std::int64_t{sizeof(float)};
}

template <typename T>
std::size_t GramRows<T>::slot(GramStage stage) {
  switch (stage) {
    case GramStage::attention_residual:
      return 1;
    case GramStage::feed_forward_input:
      return 2;
    default:
      return 0;  // these are done with before the next of them comes
  }
}

template <typename T>
void GramRows<T>::start(int layer, std::int64_t sequences, std::int64_t tokens,
                        std::int64_t width) {
  layer_ = layer;
  sequences_ = sequences;
  width_ = width;
  wanted_ = !sums_.targets(GramStage::heads, layer).empty();
  input_wanted_ = !sums_.targets(GramStage::attention_input, layer).empty();
  if (input_wanted_) buffers_[0].resize(size_of(tokens * width));
  for (Buffer<T>& buffer : std::span(buffers_).subspan(1)) {
    if (wanted_) buffer.resize(size_of(tokens * width));
  }
}

template <typename T>
void GramRows<T>::keep(GramStage stage, std::int64_t token, std::span<const float> rows) {
  if (!(stage == GramStage::attention_input ? input_wanted_ : wanted_)) return;
  simd::convert(rows, 1, buffer(stage).part(size_of(token * width_), rows.size()));
}

template <typename T>
void GramRows<T>::keep(GramStage stage, std::int64_t token, std::span<const simd::BFloat16> rows) {
  if constexpr (std::is_same_v<T, simd::BFloat16>) {
    if (!(stage == GramStage::attention_input ? input_wanted_ : wanted_)) return;
    std::copy(rows.begin(), rows.end(), buffer(stage).data() + token * width_);
  }
}

template <typename T>
void GramRows<T>::add(GramStage stage, std::vector<Products>& products) {
  add(stage, buffer(stage).data(), width_, products);
}

template <typename T>
void GramRows<T>::add(GramStage stage, const T* rows, std::int64_t width,
                      std::vector<Products>& products) {
  const std::vector<float*> targets = sums_.targets(stage, layer_);
  if (targets.empty()) return;
  add_blocks(
      length_, block_rows(length_), targets,
      [&](std::int64_t first, std::int64_t count) { return widened(first + count, length_); },
      [&](std::int64_t first, std::int64_t count, std::int64_t keys, std::size_t worker,
          float* tile) {
        for (std::int64_t s = 0; s < sequences_; ++s) {
          const T* sequence = rows + s * length_ * width;
          products[worker].run(
              {.m = count, .n = keys, .k = width, .transposed = true, .accumulate = s > 0},
              sequence + first * width, sequence, tile);
        }
      });
}

// The mean over heads of q.k: the queries of a group's heads share their keys, so their sum makes
// one product.
template <typename T>
void GramRows<T>::add_query_key(const AttentionShape& shape, const Mask& mask, const T* queries,
                                const T* keys, std::vector<Products>& products) {
  const std::vector<float*> targets = sums_.targets(GramStage::query_key, layer_);
  if (targets.empty()) return;
  struct Scratch {
    Buffer<float> sum;
    Buffer<T> rows;
  };
  std::vector<Scratch> scratch(products.size());
  const std::int64_t size = shape.block_rows * shape.head_dim;
  const auto keys_of = [&](std::int64_t first, std::int64_t count) {
    std::int64_t last = 0;
    for (std::int64_t r = 0; r < count; ++r) {
      last = std::max(last, mask.keys(first + r, length_).last);
    }
    return widened(last, length_);
  };
  add_blocks(length_, shape.block_rows, targets, keys_of,
             [&](std::int64_t first, std::int64_t count, std::int64_t seen, std::size_t worker,
                 float* tile) {
               Scratch& own = scratch[worker];
               own.sum.resize(size_of(size));
               own.rows.resize(size_of(size));
               const std::span<float> sum = own.sum.part(0, size_of(count * shape.head_dim));
               for (std::int64_t s = 0; s < sequences_; ++s) {
                 for (std::int64_t kv = 0; kv < shape.key_value_heads; ++kv) {
                   std::fill(sum.begin(), sum.end(), 0.0F);
                   for (std::int64_t g = 0; g < shape.group(); ++g) {
                     add_rows(
                         std::span(queries + shape.query_offset(s, kv * shape.group() + g, first),
                                   sum.size()),
                         sum);
                   }
                   simd::convert(sum, 1, own.rows.part(0, sum.size()));
                   products[worker].run({.m = count,
                                         .n = seen,
                                         .k = shape.head_dim,
                                         .transposed = true,
                                         .accumulate = s + kv > 0},
                                        own.rows.data(), keys + shape.key_offset(s, kv, 0), tile);
                 }
               }
             });
}

template class GramRows<float>;
template class GramRows<simd::BFloat16>;

}  // namespace poslens
