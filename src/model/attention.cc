#include "model/attention.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>

#include "model/pooled_strip.h"
#include "poslens/threads.h"
#include "simd/layer_kernels.h"

namespace poslens {
namespace {

std::size_t size_of(std::int64_t value) { return static_cast<std::size_t>(value); }

// The keys that some row of a block sees, widened to multiples of 64 so that products come in few
// shapes.
KeyRange block_keys(const AttentionShape& shape, const Mask& mask, std::int64_t first_row) {
  constexpr std::int64_t kStep = 64;
  KeyRange all{shape.length, 0};
  for (std::int64_t r = 0; r < shape.rows(first_row); ++r) {
    const KeyRange visible = mask.keys(first_row + r, shape.length);
    all.first = std::min(all.first, visible.first);
    all.last = std::max(all.last, visible.last);
  }
  return {all.first / kStep * kStep,
          std::min(shape.length, (all.last + kStep - 1) / kStep * kStep)};
}

// Makes room for `size` elements; contents are not kept.
template <typename T>
T* reserve(Buffer<T>& buffer, std::int64_t size) {
  if (buffer.size() < size_of(size)) buffer.resize(size_of(size));
  return buffer.data();
}

float* zeros(Buffer<float>& buffer, std::int64_t size) {
  return std::fill_n(reserve(buffer, size), size, 0.0f) - size;
}

// One block of query rows through all sequences and heads.
template <typename T>
class BlockPass {
 public:
  // strip: where to add when maps are pooled; null otherwise.
  BlockPass(const AttentionJob<T>& job, std::int64_t block, AttentionScratch<T>& scratch,
            Products& products, PooledStrip* strip)
      : job_(job),
        shape_(job.shape),
        first_row_(block * job.shape.block_rows),
        rows_(job.shape.rows(first_row_)),
        range_(block_keys(job.shape, job.mask, first_row_)),
        keys_(range_.last - range_.first),
        scratch_(scratch),
        products_(products),
        strip_(strip) {}

  void run() {
    const std::int64_t tile_rows = shape_.group() * rows_;
    tile_ = reserve(scratch_.tile, tile_rows * keys_);
    inverse_ = reserve(scratch_.inverse, tile_rows);
    if constexpr (!std::is_same_v<T, float>) reserve(scratch_.powers, tile_rows * keys_);
    reserve(scratch_.weighted, tile_rows * shape_.head_dim);
    if (job_.sums.probabilities != nullptr) {
      probabilities_ = zeros(scratch_.probabilities, rows_ * keys_);
    }
    const auto groups = static_cast<std::int64_t>(job_.sums.groups.size());
    if (groups == 0) {
      for (std::int64_t s = 0; s < job_.sequences; ++s) run_sequence(s);
    }
    for (std::int64_t group = 0; group < groups; ++group) run_group(group, groups);
    if (probabilities_ == nullptr) return;
    if (strip_ != nullptr) {
      strip_->add_probabilities(pooled_tile(probabilities_), job_.sums.probabilities);
    } else {
      add_tile(probabilities_, job_.sums.probabilities);
    }
  }

 private:
  // Every sequence of the chunk that belongs to a group: number mod groups = group.
  void run_group(std::int64_t group, std::int64_t groups) {
    const std::int64_t planes = job_.sums.heads != nullptr ? shape_.query_heads : 1;
    scores_ = zeros(scratch_.scores, planes * rows_ * keys_);
    const std::int64_t first = (group - job_.first_sequence % groups + groups) % groups;
    for (std::int64_t s = first; s < job_.sequences; s += groups) run_sequence(s);
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      const float* sums = scores_ + plane * rows_ * keys_;
      float* heads = job_.sums.heads;
      if (heads != nullptr) heads += plane * job_.sums.side * job_.sums.side;
      if (strip_ != nullptr) {
        strip_->add_scores(pooled_tile(sums), job_.sums.groups[size_of(group)]);
        if (heads != nullptr) strip_->add(pooled_tile(sums), heads);
      } else {
        add_tile(sums, job_.sums.groups[size_of(group)]);
        if (heads != nullptr) add_tile(sums, heads);
      }
    }
  }

  void run_sequence(std::int64_t s) {
    const bool varies = job_.sums.squares != nullptr;
    if (varies) sequence_ = zeros(scratch_.sequence, rows_ * keys_);
    for (std::int64_t kv = 0; kv < shape_.key_value_heads; ++kv) {
      make_scores(s, kv);
      const bool softmax = job_.values != nullptr || probabilities_ != nullptr;
      for (std::int64_t g = 0; g < shape_.group(); ++g) {
        const std::int64_t head = kv * shape_.group() + g;
        for (std::int64_t r = 0; r < rows_; ++r) {
          cap_and_bias(g, head, r);
          const float largest = keep_scores(g, head, r);
          if (softmax) make_powers(g, r, largest);
        }
      }
      if (job_.values != nullptr) weigh_values(s, kv);
    }
    ++done_;
    if (!varies) return;
    if (strip_ != nullptr) {
      strip_->add_sequence(pooled_tile(sequence_), s);
    } else {
      add_to_variance(job_.earlier + done_);
    }
  }

  void make_scores(std::int64_t s, std::int64_t kv) {
    products_.run(
        {.m = shape_.group() * rows_, .n = keys_, .k = shape_.head_dim, .transposed = true},
        job_.queries + shape_.query_offset(s, kv * shape_.group(), first_row_),
        job_.keys + shape_.key_offset(s, kv, range_.first), tile_);
  }

  // Keys that row r sees, counted from the tile's first.
  KeyRange visible(std::int64_t r) const {
    const KeyRange range = job_.mask.keys(first_row_ + r, shape_.length);
    return {range.first - range_.first, range.last - range_.first};
  }

  std::span<float> tile_row(std::int64_t g, std::int64_t r) {
    return {tile_ + (g * rows_ + r) * keys_, size_of(keys_)};
  }

  template <typename Element>
  static std::span<Element> part(std::span<Element> row, const KeyRange& range) {
    return row.subspan(size_of(range.first), size_of(range.last - range.first));
  }

  std::span<float> part(float* plane, std::int64_t r, const KeyRange& range) const {
    return {plane + r * keys_ + range.first, size_of(range.last - range.first)};
  }

  // From scaled to the last stage.
  void cap_and_bias(std::int64_t g, std::int64_t head, std::int64_t r) {
    if (job_.softcap == 0 && job_.bias.rows() == 0) return;
    const KeyRange range = visible(r);
    const std::span<float> row = part(tile_row(g, r), range);
    if (job_.softcap != 0) simd::softcap(row, job_.softcap);
    if (job_.bias.rows() == 0) return;
    const auto first = size_of(range_.first + range.first);
    simd::add_scaled(job_.bias.row(size_of(head)).subspan(first, row.size()), 1, row);
  }

  // Adds a row of scores to the sums; returns the row's maximum.
  float keep_scores(std::int64_t g, std::int64_t head, std::int64_t r) {
    const KeyRange range = visible(r);
    const std::span<const float> row = part(tile_row(g, r), range);
    if (job_.sums.groups.empty()) return simd::maximum(row);
    float* plane = job_.sums.heads != nullptr ? scores_ + head * rows_ * keys_ : scores_;
    if (job_.sums.squares != nullptr) simd::add_scaled(row, 1, part(sequence_, r, range));
    return simd::add_and_maximum(row, part(plane, r, range));
  }

  // A row of scores to exp(score - maximum), and the sum's inverse.
  void make_powers(std::int64_t g, std::int64_t r, float largest) {
    const KeyRange range = visible(r);
    const std::span<float> seen = part(tile_row(g, r), range);
    const std::span<T> powers = power_row(g, r);
    float& inverse = inverse_[g * rows_ + r];
    if (probabilities_ != nullptr) {
      inverse = 1 / simd::exp_and_sum(seen, largest, seen);
      simd::add_scaled(seen, inverse, part(probabilities_, r, range));
      if constexpr (!std::is_same_v<T, float>) simd::convert(seen, 1, part(powers, range));
    } else {
      inverse = 1 / simd::exp_and_sum(seen, largest, part(powers, range));
    }
    if (job_.values == nullptr) return;
    std::fill(powers.begin(), powers.begin() + range.first, T{});
    std::fill(powers.begin() + range.last, powers.end(), T{});
  }

  T* powers() const {
    if constexpr (std::is_same_v<T, float>) {
      return tile_;
    } else {
      return scratch_.powers.data();
    }
  }

  std::span<T> power_row(std::int64_t g, std::int64_t r) const {
    return {powers() + (g * rows_ + r) * keys_, size_of(keys_)};
  }

  void weigh_values(std::int64_t s, std::int64_t kv) {
    products_.run({.m = shape_.group() * rows_, .n = shape_.head_dim, .k = keys_}, powers(),
                  job_.values + shape_.key_offset(s, kv, range_.first), scratch_.weighted.data());
    const std::size_t width = size_of(shape_.head_dim);
    for (std::int64_t g = 0; g < shape_.group(); ++g) {
      for (std::int64_t r = 0; r < rows_; ++r) {
        const std::int64_t head = kv * shape_.group() + g;
        const std::int64_t token = s * shape_.length + first_row_ + r;
        T* out = job_.output + (token * shape_.query_heads + head) * shape_.head_dim;
        simd::convert(scratch_.weighted.part(size_of(g * rows_ + r) * width, width),
                      inverse_[g * rows_ + r], {out, width});
      }
    }
  }

  void add_to_variance(std::int64_t count) {
    const float per_head = 1 / static_cast<float>(shape_.query_heads);
    for (std::int64_t r = 0; r < rows_; ++r) {
      const KeyRange range = visible(r);
      const std::span<float> row = part(sequence_, r, range);
      simd::welford(row, per_head, count, map_row(job_.sums.running_mean, r, row.size(), range),
                    map_row(job_.sums.squares, r, row.size(), range));
    }
  }

  // The part of a map [n, n] that belongs to row r of the block and a range of the tile's keys.
  std::span<float> map_row(float* map, std::int64_t r, std::size_t size,
                           const KeyRange& range) const {
    return {map + (first_row_ + r) * shape_.length + range_.first + range.first, size};
  }

  PooledStrip::Tile pooled_tile(const float* tile) const {
    return {first_row_, rows_, range_, tile};
  }

  void add_tile(const float* tile, float* map) const {
    for (std::int64_t r = 0; r < rows_; ++r) {
      simd::add_scaled({tile + r * keys_, size_of(keys_)}, 1,
                       map_row(map, r, size_of(keys_), {0, keys_}));
    }
  }

  const AttentionJob<T>& job_;
  const AttentionShape& shape_;
  const std::int64_t first_row_;
  const std::int64_t rows_;
  const KeyRange range_;  // the tile's keys
  const std::int64_t keys_;
  std::int64_t done_ = 0;  // sequences of the chunk; groups do not take them in order
  AttentionScratch<T>& scratch_;
  Products& products_;
  PooledStrip* strip_;
  float* tile_ = nullptr;
  float* inverse_ = nullptr;
  float* scores_ = nullptr;
  float* sequence_ = nullptr;
  float* probabilities_ = nullptr;
};

// The last rows first: a causal mask shows them most.
template <typename T>
void attend_in_strips(const AttentionJob<T>& job, std::vector<AttentionScratch<T>>& scratch,
                      std::vector<Products>& products) {
  const AttentionShape& shape = job.shape;
  const Strips cut = strips(shape.length, shape.block_rows, job.sums.pool);
  std::vector<std::optional<PooledStrip>> kept(size_of(cut.count));
  parallel_for(kept.size(), [&](std::size_t index, int worker) {
    const std::int64_t number = cut.count - 1 - static_cast<std::int64_t>(index);
    const std::int64_t first = number * cut.rows;
    const std::int64_t last = std::min(shape.length, first + cut.rows);
    PooledStrip& strip =
        kept[size_of(number)].emplace(job.sums, shape, first, last - first, job.sequences);
    const std::size_t own = size_of(worker);
    for (std::int64_t row = first; row < last; row += shape.block_rows) {
      BlockPass<T>(job, row / shape.block_rows, scratch[own], products[own], &strip).run();
    }
    strip.finish_variance(job.mask, shape.query_heads, job.earlier);
  });
  for (const std::optional<PooledStrip>& strip : kept) strip->join();
}

}  // namespace

std::int64_t AttentionShape::query_offset(std::int64_t sequence, std::int64_t query_head,
                                          std::int64_t position) const {
  const std::int64_t first = position / block_rows * block_rows;
  const std::int64_t row = sequence * query_heads + query_head / group() * group();
  const std::int64_t in_block = query_head % group() * rows(first) + position - first;
  return (row * length + first * group() + in_block) * head_dim;
}

std::int64_t AttentionShape::key_offset(std::int64_t sequence, std::int64_t key_value_head,
                                        std::int64_t position) const {
  return ((sequence * key_value_heads + key_value_head) * length + position) * head_dim;
}

std::int64_t choose_block_rows(std::int64_t length, std::int64_t group, int threads) {
  constexpr std::int64_t kProductRows = 256;
  constexpr std::int64_t kTileBytes = 2 << 20;
  constexpr std::int64_t kLeast = 16;
  const auto wanted = static_cast<std::uint64_t>(kProductRows / group);
  std::int64_t rows = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::bit_floor(wanted)),
                                               kLeast, kProductRows / 2);
  while (rows > kLeast && (group * rows * length * std::int64_t{sizeof(float)} > kTileBytes ||
                           length < rows * 4 * threads)) {
    rows /= 2;
  }
  return rows;
}

template <typename T>
void attend(const AttentionJob<T>& job, std::vector<AttentionScratch<T>>& scratch,
            std::vector<Products>& products) {
  const AttentionShape& shape = job.shape;
  if (job.sums.pool > 1) {
    attend_in_strips(job, scratch, products);
    return;
  }
  const auto work = [&](std::int64_t block) {
    const std::int64_t first_row = block * shape.block_rows;
    const KeyRange range = block_keys(shape, job.mask, first_row);
    return shape.rows(first_row) * (range.last - range.first);
  };
  std::vector<std::int64_t> order(size_of(shape.blocks()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return work(a) > work(b); });
  parallel_for(order.size(), [&](std::size_t index, int worker) {
    const std::size_t own = size_of(worker);
    BlockPass<T>(job, order[index], scratch[own], products[own], nullptr).run();
  });
}
template void attend(const AttentionJob<float>&, std::vector<AttentionScratch<float>>&,
                     std::vector<Products>&);
template void attend(const AttentionJob<simd::BFloat16>&,
                     std::vector<AttentionScratch<simd::BFloat16>>&, std::vector<Products>&);

}  // namespace poslens
