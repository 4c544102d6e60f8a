#pragma once
// The measures of one layer's attention, query by query.

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "poslens/attention.h"

namespace poslens {

// One query's attention, key 0 apart: what is to be known without it then has all its digits,
// however strong the sink. Attention to key 1 + k is others * rest[k].
struct AttentionRow {
  double first = 0;           // to key 0; 0 where hidden
  double others = 0;          // 1 - first
  double rest_entropy = 0;    // of rest, nats
  std::size_t keys = 0;       // visible ones
  std::size_t rest_keys = 0;  // visible ones but key 0
  std::vector<double> rest;   // sums to 1; empty when key 0 is the only key. 0 where hidden
};

// From scores, or from probabilities; NaN marks hidden keys.
void softmax_row(std::span<const float> scores, AttentionRow& row);
void probability_row(std::span<const float> probabilities, AttentionRow& row);

// What rollout() carries from layer to layer: R e_0 and R (0, 1, 2, ...), by which R is measured in
// O(n^2) a layer. Lanes: plain, residual-aware, and the positions again without key 0.
struct Rollout {
  enum Lane { kFirst, kPosition, kResidualFirst, kResidualPosition, kRest, kResidualRest, kLanes };
  std::vector<std::array<double, kLanes>> of_query;

  // Before the first layer.
  explicit Rollout(std::size_t n);
  // Nothing is known after a gap between layers.
  void lose();
};

class AttentionLayer {
 public:
  // below must outlive this.
  explicit AttentionLayer(const Rollout& below);

  // For every query i in turn, from 0.
  void add(const AttentionRow& row);

  // When all are in: the measures, in the order of kAttentionFields.
  std::vector<double> scalars() const;
  const Rollout& rollout() const { return rollout_; }

  // By query.
  std::vector<double> first_key, distance, entropy;

 private:
  const Rollout& below_;
  Rollout rollout_;
  std::vector<double> rest_first_, rest_distance_;  // from query 1 on
  double entropies_ = 0, rest_entropies_ = 0;       // sums of H_i / ln(keys)
  std::size_t entropy_rows_ = 0, rest_entropy_rows_ = 0;
};

extern const std::vector<Estimate AttentionMeasures::*> kAttentionFields;

}  // namespace poslens
