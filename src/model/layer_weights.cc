#include "model/layer_weights.h"

#include <algorithm>
#include <type_traits>

#include "poslens/threads.h"
#include "simd/model_kernels.h"

namespace poslens {
namespace {

// Some rows of a matrix, to be expanded by one worker.
template <typename T>
struct Job {
  const TensorEntry* tensor;
  std::int64_t first;
  std::int64_t count;
  T* out;
};

template <typename T>
class Loader {
 public:
  explicit Loader(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  void add(const LinearNames& names, std::int64_t outputs, std::int64_t inputs,
           LinearWeights<T>& weights) {
    const TensorEntry& tensor = checkpoint_.require(names.weight, {outputs, inputs});
    weights.matrix.resize(static_cast<std::size_t>(outputs * inputs));
    weights.bias.clear();
    if (!names.bias.empty()) weights.bias = load_vector(checkpoint_, names.bias, outputs);
    constexpr std::int64_t kElements = 1 << 16;  // per job: enough to be worth handing out
    const std::int64_t rows = std::max<std::int64_t>(1, kElements / inputs);
    for (std::int64_t first = 0; first < outputs; first += rows) {
      jobs_.push_back({&tensor, first, std::min(rows, outputs - first),
                       weights.matrix.data() + first * inputs});
    }
  }

  void run() {
    std::vector<Buffer<float>> scratch(static_cast<std::size_t>(thread_count()));
    parallel_for(jobs_.size(), [&](std::size_t index, int worker) {
      const Job<T>& job = jobs_[index];
      load_rows(*job.tensor, job.first, job.count, job.out,
                scratch[static_cast<std::size_t>(worker)]);
    });
  }

 private:
  const Checkpoint& checkpoint_;
  std::vector<Job<T>> jobs_;
};

}  // namespace

template <typename T>
void load_rows(const TensorEntry& tensor, std::int64_t first, std::int64_t count, T* out,
               Buffer<float>& scratch) {
  const auto size = static_cast<std::size_t>(count * tensor.shape.back());
  if constexpr (std::is_same_v<T, float>) {
    expand_rows(tensor, first, count, {out, size});
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
  std::vector<float> values(static_cast<std::size_t>(size));
  expand_rows(checkpoint.require(name, {size}), 0, 1, values);
  return values;
}

template <typename T>
void load_layer(const Checkpoint& checkpoint, const ModelSpec& spec, int layer, LayerPart part,
                LayerWeights<T>& weights) {
  const LayerSpec& description = spec.layers[static_cast<std::size_t>(layer)];
  const AttentionSpec& attention = description.attention;
  const FeedForwardSpec& feed_forward = description.feed_forward;
  const std::int64_t query_width = std::int64_t{attention.query_heads} * attention.head_dim;
  const std::int64_t key_width = std::int64_t{attention.key_value_heads} * attention.head_dim;
  Loader<T> loader(checkpoint);
  weights.attention_norm = load_vector(checkpoint, description.attention_norm, spec.hidden);
  loader.add(attention.query, query_width, spec.hidden, weights.query);
  loader.add(attention.key, key_width, spec.hidden, weights.key);
  if (part == LayerPart::whole) {
    loader.add(attention.value, key_width, spec.hidden, weights.value);
    loader.add(attention.output, spec.hidden, query_width, weights.output);
    weights.feed_forward_norm = load_vector(checkpoint, description.feed_forward_norm, spec.hidden);
    loader.add(feed_forward.gate, feed_forward.width, spec.hidden, weights.gate);
    loader.add(feed_forward.up, feed_forward.width, spec.hidden, weights.up);
    loader.add(feed_forward.down, spec.hidden, feed_forward.width, weights.down);
  }
  loader.run();
}
template void load_layer(const Checkpoint&, const ModelSpec&, int, LayerPart, LayerWeights<float>&);
template void load_layer(const Checkpoint&, const ModelSpec&, int, LayerPart,
                         LayerWeights<simd::BFloat16>&);

std::int64_t layer_bytes(const ModelSpec& spec, int layer, std::int64_t element_bytes) {
  const LayerSpec& description = spec.layers[static_cast<std::size_t>(layer)];
  const AttentionSpec& attention = description.attention;
  const std::int64_t heads = attention.query_heads + attention.key_value_heads;
  const std::int64_t outputs =
      2 * heads * attention.head_dim + 3 * std::int64_t{description.feed_forward.width};
  return outputs * spec.hidden * element_bytes;
}

}  // namespace poslens
