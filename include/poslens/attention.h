#pragma once
// Where attention goes: sink, distance, entropy and rollout, of kept mean probabilities or of the
// softmax of a mean map. The two are not the same: softmax is convex, so a mean of softmaxes is not
// the softmax of the mean scores. Names keep them apart: attention_… is of the artefact's `probs`,
// softmax_… of the softmax of its mean scores.

#include <cstdint>
#include <vector>

#include "poslens/estimate.h"
#include "poslens/matrix.h"
#include "poslens/score_map.h"

namespace poslens {

// The threshold of arXiv 2410.10781 (Gu et al. 2024), over which a head is a sink, and the number
// of tokens that it is given for.
constexpr double kSinkThreshold = 0.3;
constexpr std::int64_t kSinkTokens = 64;

// A_ij below is the attention of query i to key j, over all keys that the mask shows (the query
// itself, and later ones, too). `_without_first_key`: queries and keys from 1 on, A_ij / (1 -
// A_i0).
struct AttentionMeasures {
  // Mean over queries of A_i0, 0..1: the importance of the first key, alpha_1 of arXiv 2410.10781.
  // Without the first key: that of key 1.
  Estimate first_key;
  Estimate first_key_without_first_key;
  // The same over the first 64 queries; NaN when there are fewer.
  Estimate first_key_64;
  // Effective distance: mean over queries from 1 on of sum_j A_ij |i - j|, in positions; n / 4 when
  // attention is uniform under the causal mask.
  Estimate distance;
  Estimate distance_without_first_key;
  // Mean over queries that see two keys or more of H_i / ln(keys), H_i = -sum_j A_ij ln A_ij; 0..1,
  // 1 when attention is uniform. Of the mean: single samples attend more sharply.
  Estimate entropy;
  Estimate entropy_without_first_key;
  // Rollout (Abnar & Zuidema, ACL 2020, arXiv 2005.00928): R = A(l) A(l-1) ... A(first layer kept),
  // plain, or with (A + I) / 2 in place of each A, for the residual connections. first_key is the
  // mean over queries of R_i0; distance that, from query 1 on, of i - sum_j R_ij j: the distance
  // under causal masks, and 0 when nothing pulls to either side under a full one. NaN after a layer
  // that was not kept.
  Estimate rollout_first_key;
  Estimate rollout_distance;
  Estimate residual_rollout_first_key;
  Estimate residual_rollout_distance;
  Estimate rollout_distance_without_first_key;
  Estimate residual_rollout_distance_without_first_key;
  // By query position, all keys: A_i0; sum_j A_ij |i - j|; H_i in nats. Standard errors are NaN
  // where unknown. All empty when there is no attention to measure.
  struct Curve {
    std::vector<double> values;
    std::vector<double> standard_errors;
  };
  Curve first_key_by_position;
  Curve distance_by_position;
  Curve entropy_by_position;
};

// One per layer of the map: of the softmax of the mean of its groups, jackknifed over means without
// one group. Everything is NaN for pooled maps and for raw scores, whose softmax is no attention.
std::vector<AttentionMeasures> softmax_measures(const ScoreMap& map);

// The same of `probs`, without errors, for there are no groups of it; NaN where it was not kept. Of
// a pooled map, first_key and distance are exact, from the profiles of probs; the rest is NaN.
std::vector<AttentionMeasures> attention_measures(const ScoreMap& map);

// [layer][head], of the softmax of each head's mean map; empty where heads were not kept. A head's
// rollout is its attention over the rollout of the layers below, in which the attentions of all
// heads are averaged.
std::vector<std::vector<AttentionMeasures>> head_softmax_measures(const ScoreMap& map);

// Sink rate: share of heads whose mean attention to the first key is over kSinkThreshold, of all
// queries and of the first 64. NaN for no heads, or where the measure is.
struct SinkRate {
  double all_queries = 0;
  double first_64 = 0;
};
SinkRate sink_rate(const std::vector<AttentionMeasures>& heads);

// Attention of each query of a map to all keys, [n, n]: the softmax of every row over its pairs
// that are not NaN, 0 elsewhere. Throws Error when a row has none or a score is infinite.
Matrix<double> softmax_rows(MatrixView<const float> map);

// The whole rollout matrix: the product of ((1 - mixing) I + mixing A) over attentions, which are
// in the order of layers, the first applied first. mixing 1: plain. O(n^3) a layer. Throws Error
// when there is none or shapes differ, UsageError when mixing is not in 0..1.
Matrix<double> rollout(const std::vector<Matrix<double>>& attentions, double mixing);

}  // namespace poslens
