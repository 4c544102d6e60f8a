#pragma once
// Weights of one layer, expanded from the checkpoint to the type the products compute in.

#include <cstdint>
#include <vector>

#include "model/buffer.h"
#include "model/linear.h"
#include "model/norm.h"
#include "poslens/checkpoint.h"
#include "poslens/model_spec.h"

namespace poslens {

// y = W x + b.
template <typename T>
struct LinearWeights {
  WeightMatrix<T> matrix;   // [outputs, inputs]
  std::vector<float> bias;  // [outputs], or none
};

template <typename T>
struct LayerWeights {
  NormWeights attention_norm, attention_output_norm;  // [hidden]
  LinearWeights<T> query;                             // [query_heads * head_dim, hidden]
  LinearWeights<T> key;                               // [key_value_heads * head_dim, hidden]
  LinearWeights<T> value;                             // as key
  NormWeights query_norm, key_norm;                   // see load_head_norm
  LinearWeights<T> output;                            // [hidden, query_heads * head_dim]
  NormWeights feed_forward_norm, feed_forward_output_norm;
  // The feed-forward's are cut along its width.
  LinearWeights<T> gate;  // [width, hidden]; empty when there is none
  LinearWeights<T> up;    // [width, hidden]
  LinearWeights<T> down;  // [hidden, width]
};

// Which parts of a layer a run needs.
enum class LayerPart {
  scores,  // the first norm, query and key, and their norms
  whole,
};

// Replaces what `weights` holds; memory of equal size is used again. Expands in parallel. Throws
// Error naming the tensor when its shape is not the spec's.
template <typename T>
void load_layer(const Checkpoint& checkpoint, const ModelSpec& spec, int layer, LayerPart part,
                LayerWeights<T>& weights);

// Rows first..first+count-1 of a matrix, as T; scratch is resized as needed.
template <typename T>
void load_rows(const TensorEntry& tensor, std::int64_t first, std::int64_t count, T* out,
               Buffer<float>& scratch);

// A vector tensor as f32.
std::vector<float> load_vector(const Checkpoint& checkpoint, const std::string& name,
                               std::int64_t size);

// Bytes of one layer's weights in memory.
std::int64_t layer_bytes(const ModelSpec& spec, int layer, std::int64_t element_bytes);

}  // namespace poslens
