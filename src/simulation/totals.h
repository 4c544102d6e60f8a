#pragma once
// Sums over all blocks that come out the same, bit for bit, in whatever order blocks are added and
// however they are shared out: block sums are rounded to a fixed quantum, 2^-24 of the largest
// score there can be (squares: of its square), and added as 64-bit integers, which are associative.
// The rounding changes a mean by less than 2^-25 / (samples per block) of that score; 2^37 samples
// fit.

#include <array>
#include <cstdint>
#include <vector>

#include "poslens/matrix.h"
#include "simulation/block.h"

namespace poslens {

class Totals {
 public:
  explicit Totals(const Plan& plan);
  // Memory that it takes.
  static std::int64_t bytes(const Plan& plan);

  // Throws Error when a sum is not finite: the layer's scores have left 32-bit floats.
  void add(const BlockSums& sums, std::int64_t samples);
  void add(const Totals& other);
  void clear();

  std::int64_t samples() const { return samples_[0]; }
  // Means over samples of a visible pair; the variance is the unbiased one.
  double score(std::size_t layer, std::size_t query, std::size_t key) const;
  double probability(std::size_t layer, std::size_t query, std::size_t key) const;
  double variance(std::size_t layer, std::size_t query, std::size_t key) const;
  std::int64_t recency(std::size_t layer) const { return recency_[layer]; }
  double hidden_norm(std::size_t layer, std::size_t position) const;
  double hidden_cosine(std::size_t layer, std::size_t position, std::size_t other) const;
  std::int64_t monotone(std::size_t layer) const { return monotone_[layer]; }

  // Every sum there is, and its name in files: what shards and interrupted runs carry on.
  struct Sum {
    const char* name;
    std::vector<std::int64_t> Totals::*values;
  };
  static constexpr std::array<Sum, 8> sums() {
    return {{{"samples", &Totals::samples_},
             {"scores", &Totals::scores_},
             {"squares", &Totals::squares_},
             {"probs", &Totals::probs_},
             {"recency", &Totals::recency_},
             {"monotone", &Totals::monotone_},
             {"hidden_norms", &Totals::hidden_norms_},
             {"hidden_cosines", &Totals::hidden_cosines_}}};
  }

 private:
  void add(const std::vector<double>& sums, const std::vector<double>& bounds,
           std::vector<std::int64_t>& totals) const;
  void add_hidden(const std::vector<double>& sums, const std::vector<double>& bounds,
                  std::vector<std::int64_t>& totals) const;
  std::size_t index(std::size_t layer, std::size_t query, std::size_t key) const {
    return layer * plan_->score_count + plan_->score_index(query, key);
  }

  const Plan* plan_;
  std::vector<std::int64_t> samples_ = {0};
  std::vector<double> score_bounds_, square_bounds_, prob_bounds_;  // [layers]
  std::vector<double> norm_bounds_, cosine_bounds_;                 // [layers + 1]
  std::vector<std::int64_t> scores_, squares_, probs_;              // [layers, score_count]
  std::vector<std::int64_t> recency_, monotone_;                    // [layers]
  std::vector<std::int64_t> hidden_norms_;                          // [layers + 1, n]
  std::vector<std::int64_t> hidden_cosines_;                        // [layers + 1, n (n + 1) / 2]
};

}  // namespace poslens
