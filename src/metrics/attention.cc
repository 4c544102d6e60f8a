#include "poslens/attention.h"

#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "metrics/attention_layer.h"
#include "metrics/replicas.h"
#include "poslens/threads.h"

namespace poslens {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

AttentionMeasures unknown() {
  AttentionMeasures measures;
  for (const auto field : kAttentionFields) measures.*field = Estimate{kNan};
  return measures;
}

using RowOf = std::function<void(std::size_t i, AttentionRow& row)>;

AttentionLayer run_layer(const Rollout& below, const RowOf& row_of) {
  AttentionLayer layer(below);
  AttentionRow row;
  for (std::size_t i = 0; i < below.of_query.size(); ++i) {
    row_of(i, row);
    layer.add(row);
  }
  return layer;
}

// The rollout that a layer stands on: that of the layer below, unless layers between were not kept.
Rollout below(const ScoreMap& map, std::size_t place, Rollout rollout) {
  if (place > 0 && map.layers[place] != map.layers[place - 1] + 1) rollout.lose();
  return rollout;
}

// replicas[replica]: the layer as the mean of all groups, then without each.
AttentionMeasures gather(const std::vector<const AttentionLayer*>& replicas) {
  AttentionMeasures measures;
  std::vector<std::vector<double>> scalars;
  scalars.reserve(replicas.size());
  for (const AttentionLayer* layer : replicas) scalars.push_back(layer->scalars());
  std::vector<double> values(replicas.size());
  for (std::size_t k = 0; k < kAttentionFields.size(); ++k) {
    for (std::size_t r = 0; r < values.size(); ++r) values[r] = scalars[r][k];
    measures.*kAttentionFields[k] = Replicas::estimate(values);
  }
  const auto curve = [&](std::vector<double> AttentionLayer::*field) {
    AttentionMeasures::Curve result{replicas[0]->*field, {}};
    for (std::size_t i = 0; i < result.values.size(); ++i) {
      for (std::size_t r = 0; r < values.size(); ++r) values[r] = (replicas[r]->*field)[i];
      result.standard_errors.push_back(Replicas::estimate(values).standard_error);
    }
    return result;
  };
  measures.first_key_by_position = curve(&AttentionLayer::first_key);
  measures.distance_by_position = curve(&AttentionLayer::distance);
  measures.entropy_by_position = curve(&AttentionLayer::entropy);
  return measures;
}

bool has_softmax(const ScoreMap& map) { return map.pool == 1 && map.stage != Stage::raw; }

MatrixView<const float> layer_of(const std::vector<float>& values, const ScoreMap& map,
                                 std::size_t place) {
  const auto n = static_cast<std::size_t>(map.n);
  return {values.data() + place * n * n, n, n};
}

// Of a pooled map: means over columns and diagonals of probs are exact.
AttentionMeasures from_profiles(const ScoreMap& map, std::size_t place) {
  AttentionMeasures measures = unknown();
  const auto n = static_cast<std::size_t>(map.positions());
  const auto columns = map.profiles.find("probs_columns");
  const auto diagonals = map.profiles.find("probs_diagonals");
  if (columns == map.profiles.end() || diagonals == map.profiles.end()) return measures;
  const double* lags = diagonals->second.data() + place * (2 * n - 1) + (n - 1);
  const auto pairs = [&](std::size_t t) { return static_cast<double>(n - t); };
  double distance = 0;
  double sees_first = 0;  // queries that see key 0: those whose lag to it is not hidden
  for (std::size_t t = 0; t < n; ++t) {
    if (!std::isnan(lags[t])) ++sees_first;
    for (const double mean : {lags[t], *(lags - t)}) {
      if (!std::isnan(mean)) distance += mean * static_cast<double>(t) * pairs(t);
    }
  }
  measures.first_key = {columns->second[place * n] * sees_first / static_cast<double>(n)};
  measures.distance = {distance / static_cast<double>(n - 1)};
  return measures;
}

}  // namespace

std::vector<AttentionMeasures> softmax_measures(const ScoreMap& map) {
  const std::size_t layers = map.layers.size();
  if (!has_softmax(map)) return std::vector<AttentionMeasures>(layers, unknown());
  const auto n = static_cast<std::size_t>(map.n);
  std::vector<Replicas> replicas;
  for (std::size_t place = 0; place < layers; ++place) {
    replicas.emplace_back(map.group_layers(place));
  }
  const std::size_t count = layers == 0 ? 0 : replicas[0].count();
  std::vector<std::vector<AttentionLayer>> results(count);
  std::vector<std::vector<Rollout>> rollouts(count);  // [replica][layer]: what it stands on
  parallel_for(count, [&](std::size_t replica, int /*worker*/) {
    rollouts[replica].reserve(layers);
    std::vector<float> scores;
    for (std::size_t place = 0; place < layers; ++place) {
      rollouts[replica].push_back(
          below(map, place, place == 0 ? Rollout(n) : results[replica].back().rollout()));
      results[replica].push_back(
          run_layer(rollouts[replica].back(), [&](std::size_t i, AttentionRow& row) {
            replicas[place].row(replica, i, 0, n, scores);
            softmax_row(scores, row);
          }));
    }
  });
  std::vector<AttentionMeasures> measures(layers);
  for (std::size_t place = 0; place < layers; ++place) {
    std::vector<const AttentionLayer*> of_layer;
    of_layer.reserve(count);
    for (const auto& result : results) of_layer.push_back(&result[place]);
    measures[place] = gather(of_layer);
  }
  return measures;
}

std::vector<AttentionMeasures> attention_measures(const ScoreMap& map) {
  const std::size_t layers = map.layers.size();
  std::vector<AttentionMeasures> measures(layers, unknown());
  if (map.pool > 1) {
    for (std::size_t place = 0; place < layers; ++place)
      measures[place] = from_profiles(map, place);
    return measures;
  }
  if (map.probs.empty()) return measures;
  Rollout rollout(static_cast<std::size_t>(map.n));
  for (std::size_t place = 0; place < layers; ++place) {
    const Rollout stands_on = below(map, place, std::move(rollout));
    const MatrixView<const float> probs = layer_of(map.probs, map, place);
    const AttentionLayer layer = run_layer(
        stands_on, [&](std::size_t i, AttentionRow& row) { probability_row(probs.row(i), row); });
    measures[place] = gather({&layer});
    rollout = layer.rollout();
  }
  return measures;
}

std::vector<std::vector<AttentionMeasures>> head_softmax_measures(const ScoreMap& map) {
  const auto heads = static_cast<std::size_t>(map.heads);
  if (map.scores_heads.empty()) return {};
  std::vector<std::vector<AttentionMeasures>> measures(
      map.layers.size(), std::vector<AttentionMeasures>(heads, unknown()));
  if (!has_softmax(map)) return measures;
  Rollout rollout(static_cast<std::size_t>(map.n));
  for (std::size_t place = 0; place < map.layers.size(); ++place) {
    const Rollout stands_on = below(map, place, std::move(rollout));
    std::vector<Rollout> of_heads(heads, Rollout(0));
    parallel_for(heads, [&](std::size_t head, int /*worker*/) {
      const MatrixView<const float> scores = layer_of(map.scores_heads, map, place * heads + head);
      const AttentionLayer layer = run_layer(
          stands_on, [&](std::size_t i, AttentionRow& row) { softmax_row(scores.row(i), row); });
      measures[place][head] = gather({&layer});
      of_heads[head] = layer.rollout();
    });
    rollout = std::move(of_heads[0]);
    for (std::size_t i = 0; i < rollout.of_query.size(); ++i) {
      for (std::size_t lane = 0; lane < Rollout::kLanes; ++lane) {
        double& mean = rollout.of_query[i][lane];
        for (std::size_t head = 1; head < heads; ++head) mean += of_heads[head].of_query[i][lane];
        mean /= static_cast<double>(heads);
      }
    }
  }
  return measures;
}

SinkRate sink_rate(const std::vector<AttentionMeasures>& heads) {
  const auto rate = [&](Estimate AttentionMeasures::*field) {
    double sinks = 0;
    for (const AttentionMeasures& head : heads) {
      const double attention = (head.*field).value;
      if (std::isnan(attention)) return kNan;
      if (attention > kSinkThreshold) ++sinks;
    }
    return heads.empty() ? kNan : sinks / static_cast<double>(heads.size());
  };
  return {rate(&AttentionMeasures::first_key), rate(&AttentionMeasures::first_key_64)};
}

}  // namespace poslens
