#pragma once
// Pooling of maps while their tiles are hot: no n x n array is made.

#include <cstdint>
#include <span>
#include <vector>

#include "model/attention.h"
#include "model/score_sums.h"
#include "poslens/mask.h"

namespace poslens {

// Pairs that a mask shows in each block of row `block` of the pooled map, [ceil(n / pool)].
std::vector<std::int64_t> block_pairs(const Mask& mask, std::int64_t n, std::int64_t pool,
                                      std::int64_t block);

// Pairs that a mask shows by row [n], by column [n], and by lag j - i from 1 - n on [2 n - 1].
struct ProfilePairs {
  std::vector<std::int64_t> rows, columns, lags;
};
ProfilePairs profile_pairs(const Mask& mask, std::int64_t n);

// Sums of the same, one after the other.
inline std::int64_t profile_size(std::int64_t n) { return 4 * n - 1; }

// The block_rows to use in the place of `rows` so that blocks of queries and of the map end
// together often.
std::int64_t pooled_block_rows(std::int64_t rows, std::int64_t pool);

// A strip of query rows that starts and ends with a block of queries and a block of the map, so
// that one worker owns the rows of the map that it adds to. There are few of them, because sums
// over columns and diagonals are kept for each until they are joined in order: results are the
// same bits for any thread count.
struct Strips {
  std::int64_t rows = 0;  // of a strip; the last may be shorter
  std::int64_t count = 0;
};
Strips strips(std::int64_t length, std::int64_t block_rows, std::int64_t pool);

class PooledStrip {
 public:
  // Rows first_row.. of a layer; sequences: of the chunk.
  PooledStrip(const LayerSums& sums, const AttentionShape& shape, std::int64_t first_row,
              std::int64_t rows, std::int64_t sequences);

  // Sums over a tile [rows, keys] of scores or probabilities, zeros where pairs are hidden.
  struct Tile {
    std::int64_t first_row = 0;
    std::int64_t rows = 0;
    KeyRange keys;
    const float* values = nullptr;
  };
  void add(const Tile& tile, float* map) const { add_from(0, tile, map); }
  // To the profiles too.
  void add_scores(const Tile& tile, float* map);
  void add_probabilities(const Tile& tile, float* map);
  // One sequence's scores, summed over heads, for the variance of its block means.
  void add_sequence(const Tile& tile, std::int64_t sequence);

  // When all blocks have been added: sequences into the variance, after `earlier` others.
  void finish_variance(const Mask& mask, std::int64_t query_heads, std::int64_t earlier);
  // Columns and lags into the sums of the layer; call strip after strip.
  void join() const;

 private:
  // map: without its first rows.
  void add_from(std::int64_t first_map_row, const Tile& tile, float* map) const;
  // Sums over the strip's rows: by column [n], then by lag [2 n - 1].
  struct Marginals {
    double* total = nullptr;  // the layer's, rows first; null: not kept
    std::vector<double> sums;
  };
  void add_with(Marginals& marginals, const Tile& tile, float* map) const;

  const LayerSums* sums_;
  std::int64_t length_;
  std::int64_t first_row_;
  std::int64_t rows_;
  std::int64_t sequences_;
  Marginals scores_, probabilities_;
  std::vector<float> blocks_;  // [sequences, rows of the map, side], for the variance
};

}  // namespace poslens
