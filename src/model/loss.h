#pragma once
// Next-token cross entropy of a chunk.

#include <cstdint>
#include <span>
#include <vector>

#include "model/buffer.h"
#include "model/linear.h"
#include "poslens/checkpoint.h"
#include "poslens/model_spec.h"

namespace poslens {

// Tokens that a matrix product takes at once, and rows of the head that go together.
struct LossBlocks {
  std::int64_t tokens = 0;
  std::int64_t vocabulary = 0;
};

// A worker's memory.
template <typename T>
struct LossScratch {
  WeightMatrix<T> head;  // [vocabulary block, hidden]
  LeftFactor<T> states;  // [token block, hidden]
  Buffer<float> expanded;
  Buffer<float> logits;  // [token block, vocabulary block]
};

// Adds each position's cross entropy (nats) of the token that follows to sums [length - 1].
//   states  [tokens rounded up to whole blocks, hidden]: the normed residual stream
//   ids     [tokens], sequences of `length` one after the other
// Logits are f32 and live one block at a time; each block's sum of exponentials is f32, and blocks
// are joined in double.
template <typename T>
void add_loss(const Checkpoint& checkpoint, const ModelSpec& spec, const LossBlocks& blocks,
              std::int64_t length, std::span<const T> states, std::span<const std::int32_t> ids,
              std::vector<LossScratch<T>>& scratch, std::vector<Products>& products,
              std::vector<double>& sums);

}  // namespace poslens
