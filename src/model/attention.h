#pragma once
// Attention of one layer over a chunk of sequences: scores into the maps, softmax, weighted values.

#include <cstdint>
#include <vector>

#include "model/buffer.h"
#include "model/linear.h"
#include "model/score_sums.h"
#include "poslens/mask.h"
#include "poslens/matrix.h"

namespace poslens {

// How queries, keys and values lie in memory. Queries are cut into blocks of block_rows positions
// (the last may be shorter); the heads that share a key-value head lie together within a block, so
// that one matrix product makes all their scores:
//   queries [sequence, key-value head, block, head of the group, position in block, head_dim]
//   keys, values [sequence, key-value head, position, head_dim]
struct AttentionShape {
  std::int64_t length = 0;
  std::int64_t query_heads = 0;
  std::int64_t key_value_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t block_rows = 0;

  std::int64_t group() const { return query_heads / key_value_heads; }
  std::int64_t blocks() const { return (length + block_rows - 1) / block_rows; }
  // Positions of a block that starts at `first`.
  std::int64_t rows(std::int64_t first) const {
    return length - first < block_rows ? length - first : block_rows;
  }
  std::int64_t query_offset(std::int64_t sequence, std::int64_t query_head,
                            std::int64_t position) const;
  std::int64_t key_offset(std::int64_t sequence, std::int64_t key_value_head,
                          std::int64_t position) const;
};

// The block_rows to use: tiles of scores that stay in the cache, and blocks enough for all threads.
std::int64_t choose_block_rows(std::int64_t length, std::int64_t group, int threads);

template <typename T>
struct AttentionJob {
  AttentionShape shape;
  Mask mask;
  std::int64_t sequences = 0;       // in the chunk
  std::int64_t first_sequence = 0;  // number of the chunk's first, for its group
  std::int64_t earlier = 0;         // sequences of the run before the chunk
  const T* queries = nullptr;       // scaled: their products with keys are the scores
  float softcap = 0;                // c: they become c tanh(score / c); 0: none
  MatrixView<const float> bias;     // [query heads, keys], added after that; empty: none
  const T* keys = nullptr;
  const T* values = nullptr;  // null: only what the sums need is computed
  T* output = nullptr;        // [sequence, position, query head, head_dim]
  LayerSums sums;
};

// A worker's memory.
template <typename T>
struct AttentionScratch {
  Buffer<float> tile;           // [group, rows, keys] scores, then powers
  Buffer<T> powers;             // the same as T, when T is not float
  Buffer<float> inverse;        // [group, rows] 1 / sum of powers
  Buffer<float> weighted;       // [group, rows, head_dim]
  Buffer<float> scores;         // [heads or 1, rows, keys] sum over the sequences of a group
  Buffer<float> sequence;       // [rows, keys] sum over the heads of a sequence
  Buffer<float> probabilities;  // [rows, keys]
};

// Workers take blocks of query rows, the longest first; each block goes through all sequences and
// heads in a fixed order, so sums are the same bits for any thread count. One scratch and one
// Products per worker.
template <typename T>
void attend(const AttentionJob<T>& job, std::vector<AttentionScratch<T>>& scratch,
            std::vector<Products>& products);

}  // namespace poslens
