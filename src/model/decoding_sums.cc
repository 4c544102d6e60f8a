#include "model/decoding_sums.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "poslens/matrix.h"
#include "poslens/random.h"
#include "poslens/threads.h"

namespace poslens {
namespace {

constexpr std::int64_t kGroups = 8;         // of tested sequences, for the jackknife
constexpr std::int64_t kSlabTokens = 4096;  // whose products are summed in f32
constexpr std::int64_t kBlockRows = 128;    // of a product
constexpr std::int64_t kFloat = sizeof(float);
constexpr std::int64_t kDouble = sizeof(double);

std::size_t size_of(std::int64_t value) { return static_cast<std::size_t>(value); }

std::int64_t width_of(const DecoderOptions& options, std::int64_t hidden) {
  return std::min(hidden, options.decode_width);
}

std::int64_t slab_tokens(const TokenBatch& batch) {
  return std::min(kSlabTokens, (batch.length - 1) * (batch.sequences() + 1) / 2);
}

}  // namespace

std::vector<float> decoding_projection(std::int64_t width, std::int64_t hidden) {
  constexpr std::uint64_t kSeed = 1984;
  RandomStream random(kSeed, 0);
  std::vector<float> signs(size_of(width * hidden));
  for (std::size_t i = 0; i < signs.size(); i += 32) {
    std::uint32_t bits = random.next();
    for (std::size_t k = i; k < std::min(i + 32, signs.size()); ++k, bits >>= 1U) {
      signs[k] = (bits & 1U) != 0 ? 1.0F : -1.0F;
    }
  }
  return signs;
}

DecodingSums::DecodingSums(const DecoderOptions& options, const std::vector<int>& layers,
                           const TokenBatch& batch, std::int64_t hidden, std::int64_t block_tokens)
    : length_(batch.length),
      sequences_(batch.sequences()),
      hidden_(hidden),
      width_(width_of(options, hidden)),
      block_tokens_(block_tokens) {
  if (!options.decode) return;
  inputs_ = layers;
  inputs_.push_back(layers.back() + 1);
  shift_.assign(inputs_.size() * size_of(width_), 0);
  sums_.assign(inputs_.size() * 2 * triangle_size(size_of(width_ + 2)), 0);
  errors_.assign(inputs_.size() * size_of(groups()) * 2, 0);
  columns_.resize(size_of((width_ + 2) * slab_tokens(batch)));
  if (width_ == hidden_) return;
  const std::vector<float> signs = decoding_projection(width_, hidden_);
  std::copy(signs.begin(), signs.end(), projection_.resize(width_, hidden_));
  projection_.pack();
}

std::int64_t DecodingSums::groups() const { return std::min(kGroups, tested_sequences()); }

double* DecodingSums::sums(std::size_t plane, std::int64_t half) {
  return sums_.data() + (2 * plane + size_of(half)) * triangle_size(size_of(width_ + 2));
}

std::int64_t DecodingSums::start_chunk(std::int64_t done, std::int64_t sequences) {
  if (inputs_.empty()) return sequences;
  done_ = done;
  if (done < fitted_sequences()) return std::min(sequences, fitted_sequences() - done);
  if (fits_.empty()) {
    fits_.resize(inputs_.size());
    const std::size_t size = triangle_size(size_of(width_ + 2));
    parallel_for(fits_.size(), [&](std::size_t plane, int /*worker*/) {
      fits_[plane] = fit_ridge({sums(plane, 0), size}, {sums(plane, 1), size}, size_of(width_));
    });
  }
  return sequences;
}

void DecodingSums::add(int layer, const float* stream, std::int64_t sequences,
                       std::vector<Products>& products) {
  const auto found = std::find(inputs_.begin(), inputs_.end(), layer);
  if (found == inputs_.end()) return;
  const auto plane = size_of(found - inputs_.begin());
  const float* rows = project(stream, sequences * length_, products);
  if (done_ < fitted_sequences()) {
    fit(plane, rows, sequences, products);
  } else {
    test(plane, rows, sequences);
  }
}

const float* DecodingSums::project(const float* stream, std::int64_t tokens,
                                   std::vector<Products>& products) {
  if (width_ == hidden_) return stream;
  const std::int64_t blocks = (tokens + block_tokens_ - 1) / block_tokens_;
  projected_.resize(size_of(blocks * block_tokens_ * width_));
  std::vector<LeftFactor<float>> factors(products.size());
  parallel_for(size_of(blocks), [&](std::size_t block, int worker) {
    const std::int64_t first = static_cast<std::int64_t>(block) * block_tokens_;
    LeftFactor<float>& factor = factors[size_of(worker)];
    factor.set(block_tokens_, stream + first * hidden_);
    products[size_of(worker)].run(factor, projection_, 0, false,
                                  projected_.data() + first * width_);
  });
  return projected_.data();
}

void DecodingSums::fit(std::size_t plane, const float* rows, std::int64_t sequences,
                       std::vector<Products>& products) {
  float* const shift = shift_.data() + plane * size_of(width_);
  const std::int64_t positions = length_ - 1;
  if (done_ == 0) {
    std::vector<double> mean(size_of(width_), 0);
    for (std::int64_t p = 1; p < length_; ++p) {
      for (std::int64_t a = 0; a < width_; ++a) mean[size_of(a)] += rows[p * width_ + a];
    }
    std::transform(mean.begin(), mean.end(), shift, [&](double sum) {
      return static_cast<float>(sum / static_cast<double>(positions));
    });
  }
  for (std::int64_t half = 0; half < 2; ++half) {
    const std::int64_t first_sequence = (done_ + half) % 2;
    const std::int64_t tokens = (sequences - first_sequence + 1) / 2 * positions;
    for (std::int64_t first = 0; first < tokens; first += slab_) {
      slab_ = std::min(kSlabTokens, tokens - first);
      constexpr std::int64_t kFeatures = 16;  // a cache line of a row
      parallel_for(size_of((width_ + kFeatures - 1) / kFeatures), [&](std::size_t block, int) {
        const std::int64_t from = static_cast<std::int64_t>(block) * kFeatures;
        const std::int64_t to = std::min(from + kFeatures, width_);
        for (std::int64_t k = 0; k < slab_; ++k) {
          const std::int64_t sequence = first_sequence + 2 * ((first + k) / positions);
          const std::int64_t position = 1 + (first + k) % positions;
          const float* row = rows + (sequence * length_ + position) * width_;
          for (std::int64_t a = from; a < to; ++a) {
            columns_.data()[a * slab_ + k] = row[a] - shift[a];
          }
        }
      });
      float* const ones = columns_.data() + width_ * slab_;
      for (std::int64_t k = 0; k < slab_; ++k) {
        ones[k] = 1;
        ones[slab_ + k] = target(1 + (first + k) % positions);
      }
      add_products(plane, half, products);
    }
  }
}

void DecodingSums::add_products(std::size_t plane, std::int64_t half,
                                std::vector<Products>& products) {
  const std::int64_t rows = width_ + 2;
  const std::int64_t blocks = (rows + kBlockRows - 1) / kBlockRows;
  double* const to = sums(plane, half);
  tiles_.resize(products.size());
  parallel_for(size_of(blocks), [&](std::size_t index, int worker) {
    // The last first: it is the longest.
    const std::int64_t first = (blocks - 1 - static_cast<std::int64_t>(index)) * kBlockRows;
    const std::int64_t count = std::min(kBlockRows, rows - first);
    const std::int64_t columns = first + count;
    Buffer<float>& tile = tiles_[size_of(worker)];
    tile.resize(size_of(kBlockRows * rows));
    products[size_of(worker)].run({.m = count, .n = columns, .k = slab_, .transposed = true},
                                  columns_.data() + first * slab_, columns_.data(), tile.data());
    for (std::int64_t r = 0; r < count; ++r) {
      const float* from = tile.data() + r * columns;
      double* const row = to + triangle_size(size_of(first + r));
      for (std::int64_t j = 0; j <= first + r; ++j) row[j] += from[j];
    }
  });
}

// Of the order of 1, with mean 0 over a sequence.
float DecodingSums::target(std::int64_t position) const {
  const auto length = static_cast<double>(length_);
  return static_cast<float>((static_cast<double>(position) - length / 2) / (length - 1));
}

void DecodingSums::test(std::size_t plane, const float* rows, std::int64_t sequences) {
  const RidgeFit& by = fits_[plane];
  const float* const shift = shift_.data() + plane * size_of(width_);
  const double intercept =
      by.intercept - std::inner_product(by.weights.begin(), by.weights.end(), shift, 0.0);
  std::vector<double> found(size_of(2 * sequences), 0);
  parallel_for(size_of(sequences), [&](std::size_t sequence, int /*worker*/) {
    for (std::int64_t p = 1; p < length_; ++p) {
      const float* row = rows + (static_cast<std::int64_t>(sequence) * length_ + p) * width_;
      const double guess = std::inner_product(by.weights.begin(), by.weights.end(), row, intercept);
      const auto length = static_cast<double>(length_);
      const double error = guess * (length - 1) + length / 2 - static_cast<double>(p);
      found[2 * sequence] += error * error;
      found[2 * sequence + 1] += std::abs(error);
    }
  });
  for (std::int64_t s = 0; s < sequences; ++s) {
    const std::int64_t group = (done_ + s - fitted_sequences()) % groups();
    double* const to = errors_.data() + (plane * size_of(groups()) + size_of(group)) * 2;
    to[0] += found[size_of(2 * s)];
    to[1] += found[size_of(2 * s + 1)];
  }
}

void DecodingSums::add_to(RunState& state) {
  if (inputs_.empty()) return;
  state.arrays.push_back({"decoding_shift", std::span(shift_)});
  state.arrays.push_back({"decoding_sums", std::span(sums_)});
  state.arrays.push_back({"decoding_errors", std::span(errors_)});
}

void DecodingSums::finish(ScoreMap& map) const {
  if (inputs_.empty()) return;
  const auto positions = static_cast<double>(length_ - 1);
  const double variance = (positions * positions - 1) / 12;
  const std::int64_t count = groups();
  // Of all groups but one; of all when there is no such group.
  const auto add = [&](std::int64_t without, std::vector<double>& r2, std::vector<double>& error) {
    for (std::size_t plane = 0; plane < inputs_.size(); ++plane) {
      double squares = 0, absolute = 0, tokens = 0;
      for (std::int64_t group = 0; group < count; ++group) {
        if (group == without) continue;
        const double* from = errors_.data() + (plane * size_of(count) + size_of(group)) * 2;
        squares += from[0];
        absolute += from[1];
        const std::int64_t members = (tested_sequences() - group + count - 1) / count;
        tokens += positions * static_cast<double>(members);
      }
      r2.push_back(1 - squares / tokens / variance);
      error.push_back(absolute / tokens);
    }
  };
  add(-1, map.decoding_r2, map.decoding_error);
  for (std::int64_t group = 0; group < count; ++group) {
    add(group, map.decoding_r2_leave_one_out, map.decoding_error_leave_one_out);
  }
}

std::int64_t DecodingSums::token_bytes(const DecoderOptions& options, std::int64_t hidden) {
  const std::int64_t width = width_of(options, hidden);
  return options.decode && width < hidden ? width * kFloat : 0;
}

std::int64_t DecodingSums::bytes(const DecoderOptions& options, std::int64_t layers,
                                 const TokenBatch& batch, std::int64_t hidden,
                                 std::int64_t block_tokens, int threads) {
  if (!options.decode) return 0;
  const std::int64_t width = width_of(options, hidden);
  const auto triangle = static_cast<std::int64_t>(triangle_size(size_of(width + 2)));
  const std::int64_t kept = (layers + 1) * (2 * kDouble * triangle + (kFloat + kDouble) * width);
  const std::int64_t fit = static_cast<std::int64_t>(ridge_bytes(size_of(width)));
  const std::int64_t slab =
      (width + 2) * (slab_tokens(batch) * kFloat + threads * kBlockRows * kFloat);
  // The signs, their packed copies, and blocks of the stream in three parts (see WeightMatrix).
  const std::int64_t projection =
      width < hidden ? hidden * (width * 3 * kFloat + threads * block_tokens * 6) : 0;
  return kept + threads * fit + slab + projection;
}

}  // namespace poslens
