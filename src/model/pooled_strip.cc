#include "model/pooled_strip.h"

#include <algorithm>
#include <numeric>

#include "simd/model_kernels.h"

namespace poslens {
namespace {

std::size_t size_of(std::int64_t value) { return static_cast<std::size_t>(value); }

std::int64_t divide_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step; }

// Calls visit(block, first, last) for the keys of each block that a range meets.
template <typename Visit>
void each_block(const KeyRange& keys, std::int64_t pool, const Visit& visit) {
  for (std::int64_t first = keys.first; first < keys.last;) {
    const std::int64_t block = first / pool;
    const std::int64_t last = std::min(keys.last, (block + 1) * pool);
    visit(block, first, last);
    first = last;
  }
}

// From first differences to values.
std::vector<std::int64_t> summed(std::vector<std::int64_t> steps) {
  std::partial_sum(steps.begin(), steps.end(), steps.begin());
  steps.pop_back();
  return steps;
}

}  // namespace

std::vector<std::int64_t> block_pairs(const Mask& mask, std::int64_t n, std::int64_t pool,
                                      std::int64_t block) {
  std::vector<std::int64_t> pairs(size_of(divide_up(n, pool)));
  if (pool == 1) {
    const KeyRange keys = mask.keys(block, n);
    std::fill(pairs.begin() + keys.first, pairs.begin() + keys.last, 1);
    return pairs;
  }
  for (std::int64_t i = block * pool; i < std::min(n, (block + 1) * pool); ++i) {
    each_block(mask.keys(i, n), pool, [&](std::int64_t b, std::int64_t first, std::int64_t last) {
      pairs[size_of(b)] += last - first;
    });
  }
  return pairs;
}

ProfilePairs profile_pairs(const Mask& mask, std::int64_t n) {
  ProfilePairs pairs;
  std::vector<std::int64_t> columns(size_of(n + 1));
  std::vector<std::int64_t> lags(size_of(2 * n));
  for (std::int64_t i = 0; i < n; ++i) {
    const KeyRange keys = mask.keys(i, n);
    pairs.rows.push_back(keys.last - keys.first);
    ++columns[size_of(keys.first)];
    --columns[size_of(keys.last)];
    ++lags[size_of(keys.first - i + n - 1)];
    --lags[size_of(keys.last - i + n - 1)];
  }
  pairs.columns = summed(std::move(columns));
  pairs.lags = summed(std::move(lags));
  return pairs;
}

std::int64_t pooled_block_rows(std::int64_t rows, std::int64_t pool) {
  if (pool <= rows) return rows / pool * pool;
  for (std::int64_t divisor = 2 * rows; divisor >= rows / 2 && divisor > 1; --divisor) {
    if (pool % divisor == 0) return divisor;
  }
  return rows;
}

Strips strips(std::int64_t length, std::int64_t block_rows, std::int64_t pool) {
  constexpr std::int64_t kCount = 32;
  const std::int64_t unit = std::lcm(block_rows, pool);
  Strips strips;
  strips.rows = divide_up(divide_up(length, kCount), unit) * unit;
  strips.count = divide_up(length, strips.rows);
  return strips;
}

PooledStrip::PooledStrip(const LayerSums& sums, const AttentionShape& shape, std::int64_t first_row,
                         std::int64_t rows, std::int64_t sequences)
    : sums_(&sums),
      length_(shape.length),
      first_row_(first_row),
      rows_(rows),
      sequences_(sequences),
      scores_{sums.score_profiles, {}},
      probabilities_{sums.probability_profiles, {}} {
  for (Marginals* marginals : {&scores_, &probabilities_}) {
    if (marginals->total != nullptr) marginals->sums.assign(size_of(3 * length_ - 1), 0);
  }
  if (sums.squares != nullptr) {
    blocks_.assign(size_of(sequences * divide_up(rows, sums.pool) * sums.side), 0);
  }
}

void PooledStrip::add_from(std::int64_t first_map_row, const Tile& tile, float* map) const {
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    const float* row = tile.values + r * (tile.keys.last - tile.keys.first);
    float* pooled = map + ((tile.first_row + r) / sums_->pool - first_map_row) * sums_->side;
    each_block(tile.keys, sums_->pool,
               [&](std::int64_t block, std::int64_t first, std::int64_t last) {
                 pooled[block] += static_cast<float>(std::accumulate(
                     row + (first - tile.keys.first), row + (last - tile.keys.first), 0.0));
               });
  }
}

void PooledStrip::add_with(Marginals& marginals, const Tile& tile, float* map) const {
  add(tile, map);
  if (marginals.total == nullptr) return;
  const std::int64_t count = tile.keys.last - tile.keys.first;
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    const float* row = tile.values + r * count;
    const std::int64_t i = tile.first_row + r;
    double* columns = marginals.sums.data() + tile.keys.first;
    double* lags = marginals.sums.data() + length_ + (tile.keys.first - i + length_ - 1);
    double sum = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      const double value = row[k];
      sum += value;
      columns[k] += value;
      lags[k] += value;
    }
    marginals.total[i] += sum;
  }
}

void PooledStrip::add_scores(const Tile& tile, float* map) { add_with(scores_, tile, map); }
void PooledStrip::add_probabilities(const Tile& tile, float* map) {
  add_with(probabilities_, tile, map);
}

void PooledStrip::add_sequence(const Tile& tile, std::int64_t sequence) {
  const std::int64_t planes = divide_up(rows_, sums_->pool);
  add_from(first_row_ / sums_->pool, tile, blocks_.data() + sequence * planes * sums_->side);
}

void PooledStrip::finish_variance(const Mask& mask, std::int64_t query_heads,
                                  std::int64_t earlier) {
  if (blocks_.empty()) return;
  const std::int64_t planes = divide_up(rows_, sums_->pool);
  const std::int64_t side = sums_->side;
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    const std::int64_t block = first_row_ / sums_->pool + plane;
    const std::vector<std::int64_t> pairs = block_pairs(mask, length_, sums_->pool, block);
    for (std::int64_t s = 0; s < sequences_; ++s) {
      const std::span<float> means(blocks_.data() + (s * planes + plane) * side, size_of(side));
      for (std::size_t b = 0; b < means.size(); ++b) {
        if (pairs[b] > 0) means[b] /= static_cast<float>(pairs[b] * query_heads);
      }
      simd::welford(means, 1, earlier + s + 1, {sums_->running_mean + block * side, means.size()},
                    {sums_->squares + block * side, means.size()});
    }
  }
  blocks_ = {};
}

void PooledStrip::join() const {
  for (const Marginals* marginals : {&scores_, &probabilities_}) {
    if (marginals->total == nullptr) continue;
    double* total = marginals->total + length_;
    for (std::size_t k = 0; k < marginals->sums.size(); ++k) total[k] += marginals->sums[k];
  }
}

}  // namespace poslens
