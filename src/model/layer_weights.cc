#include "model/layer_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "poslens/error.h"
#include "poslens/threads.h"
#include "simd/model_kernels.h"

namespace poslens {
namespace {

std::size_t size_of(std::int64_t value) { return static_cast<std::size_t>(value); }

std::int64_t row_of(const RowMap& rows, std::int64_t r) {
  return rows.block == 0 ? rows.first + r
                         : rows.first + r / rows.block * rows.stride + r % rows.block;
}

// Some rows of a tensor, to be expanded by one worker.
template <typename T>
struct Job {
  const TensorEntry* tensor;
  std::int64_t first;
  std::int64_t count;
  T* out;
  // Of a transposed tensor: out is [outputs, inputs] and row `first` its column of that number.
  const RowMap* rows = nullptr;
  std::int64_t outputs = 0;
};

template <typename T>
class Loader {
 public:
  explicit Loader(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  void add(const LinearSpec& spec, std::int64_t outputs, std::int64_t inputs,
           LinearWeights<T>& weights, CutAlong cut = CutAlong::nothing) {
    const std::int64_t total = spec.rows.total == 0 ? outputs : spec.rows.total;
    if (row_of(spec.rows, outputs - 1) >= total) {
      throw Error(fmt::format("tensor {}: expected at least {} rows, found {}", spec.weight,
                              row_of(spec.rows, outputs - 1) + 1, total));
    }
    const TensorEntry& tensor = checkpoint_.require(
        spec.weight, spec.transposed ? std::vector{inputs, total} : std::vector{total, inputs});
    weights.bias.clear();
    if (!spec.bias.empty()) {
      const std::vector<float> bias = load_vector(checkpoint_, spec.bias, total);
      for (std::int64_t r = 0; r < outputs; ++r) {
        weights.bias.push_back(bias[size_of(row_of(spec.rows, r))]);
      }
    }
    T* out = weights.matrix.resize(outputs, inputs, cut);
    if (spec.transposed) {
      add_transposed(tensor, spec.rows, outputs, out);
    } else {
      add_rows(tensor, spec.rows, outputs, out);
    }
    matrices_.push_back(&weights.matrix);
  }

  void run() {
    std::vector<Buffer<float>> scratch(size_of(thread_count()));
    parallel_for(jobs_.size(), [&](std::size_t index, int worker) {
      const Job<T>& job = jobs_[index];
      Buffer<float>& own = scratch[size_of(worker)];
      if (job.rows == nullptr) {
        load_rows(*job.tensor, job.first, job.count, job.out, own);
      } else {
        load_columns(job, own);
      }
    });
    parallel_for(matrices_.size(), [&](std::size_t index, int) { matrices_[index]->pack(); });
  }

 private:
  static constexpr std::int64_t kElements = 1 << 16;  // per job: enough to be worth handing out

  void add_rows(const TensorEntry& tensor, const RowMap& map, std::int64_t outputs, T* out) {
    const std::int64_t inputs = tensor.shape[1];
    const std::int64_t most = std::max<std::int64_t>(1, kElements / inputs);
    const std::int64_t block = map.block == 0 ? outputs : map.block;
    for (std::int64_t first = 0; first < outputs;) {
      const std::int64_t left = std::min(block - first % block, outputs - first);
      const std::int64_t count = std::min(most, left);
      jobs_.push_back({&tensor, row_of(map, first), count, out + first * inputs});
      first += count;
    }
  }

  void add_transposed(const TensorEntry& tensor, const RowMap& map, std::int64_t outputs, T* out) {
    const std::int64_t inputs = tensor.shape[0];
    const std::int64_t most = std::max<std::int64_t>(1, kElements / tensor.shape[1]);
    for (std::int64_t first = 0; first < inputs; first += most) {
      jobs_.push_back({&tensor, first, std::min(most, inputs - first), out, &map, outputs});
    }
  }

  static void load_columns(const Job<T>& job, Buffer<float>& scratch) {
    const std::int64_t inputs = job.tensor->shape[0];
    const std::int64_t total = job.tensor->shape[1];
    std::vector<T> rows(size_of(job.count * total));
    load_rows(*job.tensor, job.first, job.count, rows.data(), scratch);
    for (std::int64_t o = 0; o < job.outputs; ++o) {
      const std::int64_t column = row_of(*job.rows, o);
      for (std::int64_t i = 0; i < job.count; ++i) {
        job.out[o * inputs + job.first + i] = rows[size_of(i * total + column)];
      }
    }
  }

  const Checkpoint& checkpoint_;
  std::vector<Job<T>> jobs_;
  std::vector<WeightMatrix<T>*> matrices_;
};

}  // namespace

template <typename T>
void load_rows(const TensorEntry& tensor, std::int64_t first, std::int64_t count, T* out,
               Buffer<float>& scratch) {
  const auto size = static_cast<std::size_t>(count * tensor.shape.back());
  if constexpr (std::is_same_v<T, float>) {
    expand_rows(tensor, first, count, {out, size});
  } else if (tensor.type == TensorType::bf16) {
    const auto from = size_of(first * tensor.shape.back()) * sizeof(T);
    std::memcpy(out, tensor.bytes.subspan(from, size * sizeof(T)).data(), size * sizeof(T));
  } else {
    if (scratch.size() < size) scratch.resize(size);
    expand_rows(tensor, first, count, scratch.part(0, size));
    simd::convert(scratch.part(0, size), 1, {out, size});
  }
}
template void load_rows(const TensorEntry&, std::int64_t, std::int64_t, float*, Buffer<float>&);
template void load_rows(const TensorEntry&, std::int64_t, std::int64_t, simd::BFloat16*,
                        Buffer<float>&);

std::vector<float> load_vector(const Checkpoint& checkpoint, const std::string& name,
                               std::int64_t size) {
  std::vector<float> values(size_of(size));
  expand_rows(checkpoint.require(name, {size}), 0, 1, values);
  return values;
}

template <typename T>
void load_layer(const Checkpoint& checkpoint, const ModelSpec& spec, int layer, LayerPart part,
                LayerWeights<T>& weights) {
  const LayerSpec& description = spec.layers[size_of(layer)];
  const AttentionSpec& attention = description.attention;
  const FeedForwardSpec& feed_forward = description.feed_forward;
  const std::int64_t query_width = std::int64_t{attention.query_heads} * attention.head_dim;
  const std::int64_t key_width = std::int64_t{attention.key_value_heads} * attention.head_dim;
  Loader<T> loader(checkpoint);
  weights.attention_norm = load_norm(checkpoint, description.attention_norm, spec.hidden);
  loader.add(attention.query, query_width, spec.hidden, weights.query);
  loader.add(attention.key, key_width, spec.hidden, weights.key);
  weights.query_norm =
      load_head_norm(checkpoint, attention.query_norm, attention.query_heads, attention.head_dim);
  weights.key_norm =
      load_head_norm(checkpoint, attention.key_norm, attention.key_value_heads, attention.head_dim);
  if (part == LayerPart::whole) {
    loader.add(attention.value, key_width, spec.hidden, weights.value);
    loader.add(attention.output, spec.hidden, query_width, weights.output);
    weights.attention_output_norm =
        load_norm(checkpoint, description.attention_output_norm, spec.hidden);
    weights.feed_forward_norm = load_norm(checkpoint, description.feed_forward_norm, spec.hidden);
    weights.feed_forward_output_norm =
        load_norm(checkpoint, description.feed_forward_output_norm, spec.hidden);
    if (feed_forward.gated()) {
      loader.add(feed_forward.gate, feed_forward.width, spec.hidden, weights.gate,
                 CutAlong::outputs);
    }
    loader.add(feed_forward.up, feed_forward.width, spec.hidden, weights.up, CutAlong::outputs);
    loader.add(feed_forward.down, spec.hidden, feed_forward.width, weights.down, CutAlong::inputs);
  }
  loader.run();
}
template void load_layer(const Checkpoint&, const ModelSpec&, int, LayerPart, LayerWeights<float>&);
template void load_layer(const Checkpoint&, const ModelSpec&, int, LayerPart,
                         LayerWeights<simd::BFloat16>&);

std::int64_t layer_bytes(const ModelSpec& spec, int layer, std::int64_t element_bytes) {
  const LayerSpec& description = spec.layers[size_of(layer)];
  const AttentionSpec& attention = description.attention;
  const std::int64_t heads = attention.query_heads + attention.key_value_heads;
  const std::int64_t outputs =
      2 * heads * attention.head_dim +
      (description.feed_forward.gated() ? 3 : 2) * std::int64_t{description.feed_forward.width};
  constexpr std::int64_t kCopies = 2;  // rows and packed
  return kCopies * outputs * spec.hidden * element_bytes;
}

}  // namespace poslens
