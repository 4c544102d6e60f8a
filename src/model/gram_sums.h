#pragma once
// Gram maps while a run goes on: each stage costs one matrix product a sequence, and half of it,
// because the maps are symmetric.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "model/attention.h"
#include "model/buffer.h"
#include "model/linear.h"
#include "poslens/decoder.h"
#include "poslens/gram.h"

namespace poslens {

class GramSums {
 public:
  // Keeps nothing unless the options ask for it.
  GramSums(const ModelSpec& spec, const DecoderOptions& options, std::vector<int> layers,
           std::int64_t length);

  // The maps [n, n] of f32 sums that a stage of a layer adds to, next_* of the layer before among
  // them. Whoever owns a row may add to it without locks.
  std::vector<float*> targets(GramStage stage, int layer);

  // Adds the sums to what an interrupted run goes on from.
  void add_to(RunState& state);

  // Divides the sums, completes the maps and hands them over.
  void finish(std::int64_t sequences, ScoreMap& map);

  // Layers to run: one more than the last that is asked for, for the sake of next_*.
  static int run_layers(const ModelSpec& spec, const DecoderOptions& options, int last_layer);
  static std::int64_t bytes(const DecoderOptions& options, std::int64_t layers,
                            std::int64_t length);

 private:
  std::vector<float>& sums(GramStage stage) { return sums_[static_cast<std::size_t>(stage)]; }
  void finish_layer(std::size_t place, std::int64_t sequences);

  const ModelSpec& spec_;
  std::vector<int> layers_;  // empty: nothing is kept
  std::int64_t length_;
  std::array<std::vector<float>, kGramNames.size()> sums_;  // [layers, n, n] each
};

// What one layer of a chunk passes to the sums. Stages that exist only block by block are kept in
// buffers [tokens, width] until all blocks are done.
template <typename T>
class GramRows {
 public:
  GramRows(GramSums& sums, std::int64_t length) : sums_(sums), length_(length) {}

  // Call before each layer; tokens: of the chunk, in whole blocks.
  void start(int layer, std::int64_t sequences, std::int64_t tokens, std::int64_t width);
  // Whether anything of this layer after its queries and keys is of use.
  bool wanted() const { return wanted_; }

  // Rows from a token on; nothing happens unless they are of use. Workers keep different rows.
  void keep(GramStage stage, std::int64_t token, std::span<const float> rows);
  void keep(GramStage stage, std::int64_t token, std::span<const simd::BFloat16> rows);

  // Adds the products of what was kept, or of rows [tokens, width].
  void add(GramStage stage, std::vector<Products>& products);
  void add(GramStage stage, const T* rows, std::int64_t width, std::vector<Products>& products);
  void add_query_key(const AttentionShape& shape, const Mask& mask, const T* queries, const T* keys,
                     std::vector<Products>& products);

 private:
  Buffer<T>& buffer(GramStage stage) { return buffers_[slot(stage)]; }
  static std::size_t slot(GramStage stage);

  GramSums& sums_;
  std::int64_t length_;
  int layer_ = 0;
  std::int64_t sequences_ = 0;
  std::int64_t width_ = 0;
  bool wanted_ = false;
  bool input_wanted_ = false;
  std::array<Buffer<T>, 3> buffers_;
};

}  // namespace poslens
