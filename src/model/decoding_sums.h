#pragma once
// Position decoding: how well a linear map of one token's state in the residual stream tells the
// token's position, layer by layer. Ridge fits to the first half of a run's sequences, tested on
// the others (docs/metrics.md).
//
// The first token of a sequence is left out: it is BOS or the attention sink, whose state is like
// no other and tells nothing about positions beyond itself.

#include <cstdint>
#include <vector>

#include "model/buffer.h"
#include "model/linear.h"
#include "model/ridge.h"
#include "poslens/decoder.h"

namespace poslens {

// A random matrix of signs [width, hidden]: inner products and distances survive the projection to
// `width` dimensions (Johnson & Lindenstrauss 1984; signs: Achlioptas, JCSS 66, 2003). Always the
// same for the same sizes.
std::vector<float> decoding_projection(std::int64_t width, std::int64_t hidden);

class DecodingSums {
 public:
  // Keeps nothing unless the options ask for it. block_tokens: whole blocks of so many tokens stand
  // in the stream that add() gets.
  DecodingSums(const DecoderOptions& options, const std::vector<int>& layers,
               const TokenBatch& batch, std::int64_t hidden, std::int64_t block_tokens);

  // Call it before each chunk: how many of `sequences` may go through the layers together after
  // `done` ones. Makes the fits once all sequences that they need are done.
  std::int64_t start_chunk(std::int64_t done, std::int64_t sequences);

  // stream: what enters a layer (or leaves the one before), [sequences, length, hidden] of the
  // chunk.
  void add(int layer, const float* stream, std::int64_t sequences, std::vector<Products>& products);

  // Adds the sums to what an interrupted run goes on from.
  void add_to(RunState& state);

  void finish(ScoreMap& map) const;

  // Of the sums and of what the work takes, and beside that for each token of a chunk.
  static std::int64_t bytes(const DecoderOptions& options, std::int64_t layers,
                            const TokenBatch& batch, std::int64_t hidden, std::int64_t block_tokens,
                            int threads);
  static std::int64_t token_bytes(const DecoderOptions& options, std::int64_t hidden);

 private:
  std::int64_t fitted_sequences() const { return (sequences_ + 1) / 2; }
  std::int64_t tested_sequences() const { return sequences_ - fitted_sequences(); }
  std::int64_t groups() const;
  double* sums(std::size_t plane, std::int64_t half);
  float target(std::int64_t position) const;
  const float* project(const float* stream, std::int64_t tokens, std::vector<Products>& products);
  void add_products(std::size_t plane, std::int64_t half, std::vector<Products>& products);
  void fit(std::size_t plane, const float* rows, std::int64_t sequences,
           std::vector<Products>& products);
  void test(std::size_t plane, const float* rows, std::int64_t sequences);

  std::vector<int> inputs_;  // layers whose input is read; empty: nothing is kept
  std::int64_t length_ = 0;
  std::int64_t sequences_ = 0;
  std::int64_t hidden_ = 0;
  std::int64_t width_ = 0;  // of what is read of a state
  std::int64_t block_tokens_ = 0;
  std::int64_t done_ = 0;  // sequences before the chunk

  std::vector<float> shift_;    // [inputs, width] taken off first: means of the first sequence
  std::vector<double> sums_;    // [inputs, 2, triangle]: see fit_ridge()
  std::vector<double> errors_;  // [inputs, groups, 2]: squares and absolute values
  std::vector<RidgeFit> fits_;  // [inputs]

  WeightMatrix<float> projection_;
  Buffer<float> projected_;           // [tokens, width]
  Buffer<float> columns_;             // [width + 2, tokens of a slab]: z, 1, t
  std::int64_t slab_ = 0;             // tokens in it
  std::vector<Buffer<float>> tiles_;  // of products, one each per worker
};

}  // namespace poslens
