#pragma once
// Norms of the decoder: weights as they are used, and their application to a row.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "poslens/checkpoint.h"
#include "poslens/model_spec.h"
#include "simd/layer_kernels.h"

namespace poslens {

struct NormWeights {
  NormSpec::Kind kind = NormSpec::Kind::none;
  float epsilon = 0;
  std::vector<float> weight;  // of every coordinate, ones where the spec has no weight
  std::vector<float> bias;    // the same, zeros; layer norms only
};

// Rows of `size` coordinates. Throws Error naming the tensor when it is missing or of another size.
NormWeights load_norm(const Checkpoint& checkpoint, const NormSpec& spec, std::int64_t size);

// Norms of `heads` heads of `size` coordinates each: weights are one for all of them or one per
// head, see AttentionSpec. For the former the result has `size` weights, else heads * size.
NormWeights load_head_norm(const Checkpoint& checkpoint, const NormSpec& spec, std::int64_t heads,
                           std::int64_t size);

// out = norm(x) with weights first..first + x.size() - 1; x and out may be the same.
template <typename T>
void apply_norm(const NormWeights& norm, std::span<const float> x, std::span<T> out,
                std::size_t first = 0);

}  // namespace poslens
