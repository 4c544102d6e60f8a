#include "poslens/measures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "metrics/attention_layer.h"
#include "metrics/triangle.h"
#include "poslens/error.h"
#include "poslens/threads.h"

namespace poslens {
namespace {

// Blocks of pairs that are all shown: means over them keep what is relative relative, and a
// function of the row one. The last block of positions may be cut short, and blocks on the diagonal
// are no scored pairs; a window cuts blocks along its edge.
MatrixView<const float> whole_blocks(const ScoreMap& map, MatrixView<const float> pooled,
                                     std::size_t place) {
  const auto found = map.profiles.find("scores_diagonals");
  if (found != map.profiles.end()) {
    const auto lags = static_cast<std::ptrdiff_t>(2 * map.positions() - 1);
    const auto end = found->second.begin() + (static_cast<std::ptrdiff_t>(place) + 1) * lags;
    if (std::any_of(end - map.positions(), end, [](double mean) { return std::isnan(mean); })) {
      throw Error(
          fmt::format("expected all keys before a query to be visible in a map pooled over "
                      "blocks of {} positions, found a window",
                      map.pool));
    }
  }
  const auto whole = static_cast<std::size_t>(map.positions() / map.pool);
  return {pooled.data(), whole, whole, pooled.stride()};
}

Estimate first_key_share(const LayerMeasures& measures,
                         const std::vector<MatrixView<const float>>& groups) {
  const auto pairs = [&](Support support) {
    return static_cast<double>(find_triangle(scored_part(groups, support)).pairs());
  };
  const double fewer = pairs({1}) / pairs({0});
  const Decomposition& all = measures.all_keys;
  if (std::isnan(all.nonrelative_share.value)) return {all.nonrelative_share.value};
  return combine(
      {&measures.without_first_key.total, &all.total}, [fewer](std::span<const double> of) {
        return of[1] > 0 ? 1 - fewer * of[0] / of[1] : std::numeric_limits<double>::quiet_NaN();
      });
}

// The measures of scored pairs.
void measure_scores(const std::vector<MatrixView<const float>>& groups, LayerMeasures& measures) {
  measures.all_keys = decompose(groups, {0});
  measures.without_first_key = decompose(groups, {1});
  measures.nearness = nearness_slope(groups, {0});
  measures.nearness_without_first_key = nearness_slope(groups, {1});
  const auto [order, order_without] = key_orders(groups);
  measures.order = order;
  measures.order_without_first_key = order_without;
  measures.first_key_excess = first_key_excess(groups, {0});
  measures.first_key_excess_without_first_key = first_key_excess(groups, {1});
  measures.first_key_share = first_key_share(measures, groups);
}

LayerMeasures measure_layer(const ScoreMap& map, std::size_t place) {
  std::vector<MatrixView<const float>> groups = map.group_layers(place);
  LayerMeasures measures;
  measures.layer = map.layers[place];
  try {
    if (map.pool > 1) {
      for (MatrixView<const float>& group : groups) group = whole_blocks(map, group, place);
    }
    measure_scores(groups, measures);
  } catch (const Error& error) {
    throw Error(fmt::format("layer {}: {}", measures.layer, error.what()));
  }
  return measures;
}

constexpr std::pair<const char*, Estimate KeyOrder::*> kOrder[] = {
    {"recency_of_mean", &KeyOrder::recency},
    {"rising_steps_of_mean", &KeyOrder::rising_steps},
    {"rising_rows_of_mean", &KeyOrder::rising_rows},
};
constexpr std::pair<const char*, Estimate MeanFieldDistance::*> kMeanField[] = {
    {"mean_field_alpha", &MeanFieldDistance::alpha},
    {"mean_field_unexplained", &MeanFieldDistance::unexplained},
    {"mean_field_unexplained_share", &MeanFieldDistance::unexplained_share},
};
constexpr std::pair<const char*, Estimate AttentionMeasures::*> kAttention[] = {
    {"first_key", &AttentionMeasures::first_key},
    {"first_key_without_first_key", &AttentionMeasures::first_key_without_first_key},
    {"first_key_64", &AttentionMeasures::first_key_64},
    {"distance", &AttentionMeasures::distance},
    {"distance_without_first_key", &AttentionMeasures::distance_without_first_key},
    {"entropy", &AttentionMeasures::entropy},
    {"entropy_without_first_key", &AttentionMeasures::entropy_without_first_key},
    {"rollout_first_key", &AttentionMeasures::rollout_first_key},
    {"rollout_distance", &AttentionMeasures::rollout_distance},
    {"rollout_distance_without_first_key", &AttentionMeasures::rollout_distance_without_first_key},
    {"residual_rollout_first_key", &AttentionMeasures::residual_rollout_first_key},
    {"residual_rollout_distance", &AttentionMeasures::residual_rollout_distance},
    {"residual_rollout_distance_without_first_key",
     &AttentionMeasures::residual_rollout_distance_without_first_key},
};

}  // namespace

std::vector<LayerMeasures> measure(const ScoreMap& map) {
  std::vector<LayerMeasures> measures(map.layers.size());
  parallel_for(measures.size(), [&](std::size_t place, int /*worker*/) {
    measures[place] = measure_layer(map, place);
  });
  std::vector<MeanFieldDistances> mean_field = mean_field_distances(map);
  std::vector<AttentionMeasures> softmax = softmax_measures(map);
  std::vector<AttentionMeasures> attention = attention_measures(map);
  const std::vector<std::vector<AttentionMeasures>> heads = head_softmax_measures(map);
  for (std::size_t place = 0; place < measures.size(); ++place) {
    measures[place].mean_field = std::move(mean_field[place]);
    measures[place].softmax = std::move(softmax[place]);
    measures[place].attention = std::move(attention[place]);
    if (heads.empty()) continue;
    const SinkRate rate = sink_rate(heads[place]);
    measures[place].sink_heads.value = rate.all_queries;
    measures[place].sink_heads_64.value = rate.first_64;
  }
  return measures;
}

std::vector<std::vector<LayerMeasures>> measure_heads(const ScoreMap& map) {
  std::vector<std::vector<AttentionMeasures>> softmax = head_softmax_measures(map);
  const auto heads = static_cast<std::size_t>(map.heads);
  const auto n = static_cast<std::size_t>(map.n);
  std::vector<std::vector<LayerMeasures>> measures(softmax.size(),
                                                   std::vector<LayerMeasures>(heads));
  parallel_for(softmax.size() * heads, [&](std::size_t index, int /*worker*/) {
    const std::size_t place = index / heads;
    LayerMeasures& head = measures[place][index % heads];
    head.layer = map.layers[place];
    MatrixView<const float> scores(map.scores_heads.data() + index * n * n, n, n);
    try {
      if (map.pool > 1) scores = whole_blocks(map, scores, place);
      measure_scores({scores}, head);
    } catch (const Error& error) {
      throw Error(fmt::format("layer {}, head {}: {}", head.layer, index % heads, error.what()));
    }
    head.softmax = std::move(softmax[place][index % heads]);
    const Estimate unknown{std::numeric_limits<double>::quiet_NaN()};
    for (Estimate AttentionMeasures::*field : kAttentionFields) head.attention.*field = unknown;
    const MeanFieldDistance no_distance{unknown, unknown, unknown};
    head.mean_field = {no_distance, no_distance};
  });
  return measures;
}

std::vector<std::pair<std::string, const Estimate*>> named_estimates(
    const LayerMeasures& measures) {
  std::vector<std::pair<std::string, const Estimate*>> named;
  const auto add = [&](const Decomposition& parts, const Estimate& nearness, const KeyOrder& order,
                       const Estimate& excess, const std::string& suffix) {
    for (const auto& [name, part] : named_estimates(parts)) {
      named.emplace_back(name + suffix, part);
    }
    named.emplace_back("nearness" + suffix, &nearness);
    for (const auto& [name, part] : kOrder) named.emplace_back(name + suffix, &(order.*part));
    named.emplace_back("first_key_excess" + suffix, &excess);
  };
  add(measures.all_keys, measures.nearness, measures.order, measures.first_key_excess, "");
  add(measures.without_first_key, measures.nearness_without_first_key,
      measures.order_without_first_key, measures.first_key_excess_without_first_key,
      "_without_first_key");
  named.emplace_back("first_key_share", &measures.first_key_share);
  for (const auto& [name, field] : kMeanField) {
    named.emplace_back(name, &(measures.mean_field.all_keys.*field));
  }
  for (const auto& [name, field] : kMeanField) {
    named.emplace_back(fmt::format("{}_without_first_key", name),
                       &(measures.mean_field.without_first_key.*field));
  }
  for (const auto& [name, field] : kAttention) {
    named.emplace_back(fmt::format("softmax_{}", name), &(measures.softmax.*field));
  }
  named.emplace_back("sink_heads", &measures.sink_heads);
  named.emplace_back("sink_heads_64", &measures.sink_heads_64);
  for (const auto& [name, field] : kAttention) {
    named.emplace_back(fmt::format("attention_{}", name), &(measures.attention.*field));
  }
  return named;
}

std::vector<std::pair<std::string, Estimate*>> named_estimates(LayerMeasures& measures) {
  std::vector<std::pair<std::string, Estimate*>> named;
  for (const auto& [name, estimate] : named_estimates(std::as_const(measures))) {
    named.emplace_back(name, const_cast<Estimate*>(estimate));  // of measures, which may change
  }
  return named;
}

}  // namespace poslens
