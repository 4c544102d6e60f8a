#include "poslens/measures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

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

LayerMeasures measure_layer(const ScoreMap& map, std::size_t place) {
  std::vector<MatrixView<const float>> groups;
  if (map.scores_groups.empty()) {
    groups.push_back(map.layer(place));
  } else {
    for (std::int64_t group = 0; group < map.groups; ++group) {
      groups.push_back(map.group_layer(static_cast<std::size_t>(group), place));
    }
  }
  LayerMeasures measures;
  measures.layer = map.layers[place];
  try {
    if (map.pool > 1) {
      for (MatrixView<const float>& group : groups) group = whole_blocks(map, group, place);
    }
    measures.all_keys = decompose(groups, {0});
    measures.without_first_key = decompose(groups, {1});
    measures.nearness = nearness_slope(groups, {0});
    measures.nearness_without_first_key = nearness_slope(groups, {1});
    measures.order = key_order(groups, {0});
    measures.order_without_first_key = key_order(groups, {1});
    measures.first_key_excess = first_key_excess(groups, {0});
    measures.first_key_excess_without_first_key = first_key_excess(groups, {1});
    measures.first_key_share = first_key_share(measures, groups);
  } catch (const Error& error) {
    throw Error(fmt::format("layer {}: {}", measures.layer, error.what()));
  }
  return measures;
}

constexpr std::pair<const char*, Estimate Decomposition::*> kParts[] = {
    {"total", &Decomposition::total},
    {"nonrelative", &Decomposition::nonrelative},
    {"nonkey", &Decomposition::nonkey},
    {"remainder", &Decomposition::remainder},
    {"nonrelative_share", &Decomposition::nonrelative_share},
    {"nonkey_share", &Decomposition::nonkey_share},
    {"remainder_share", &Decomposition::remainder_share},
    {"variance", &Decomposition::variance},
    {"diagonal_normalised", &Decomposition::diagonal_normalised},
    {"diagonal_normalised_share", &Decomposition::diagonal_normalised_share},
};
constexpr std::pair<const char*, Estimate KeyOrder::*> kOrder[] = {
    {"recency_of_mean", &KeyOrder::recency},
    {"rising_steps_of_mean", &KeyOrder::rising_steps},
    {"rising_rows_of_mean", &KeyOrder::rising_rows},
};

}  // namespace

std::vector<LayerMeasures> measure(const ScoreMap& map) {
  std::vector<LayerMeasures> measures(map.layers.size());
  parallel_for(measures.size(), [&](std::size_t place, int /*worker*/) {
    measures[place] = measure_layer(map, place);
  });
  return measures;
}

std::vector<std::pair<std::string, const Estimate*>> named_estimates(
    const LayerMeasures& measures) {
  std::vector<std::pair<std::string, const Estimate*>> named;
  const auto add = [&](const Decomposition& parts, const Estimate& nearness, const KeyOrder& order,
                       const Estimate& excess, const std::string& suffix) {
    for (const auto& [name, part] : kParts) named.emplace_back(name + suffix, &(parts.*part));
    named.emplace_back("nearness" + suffix, &nearness);
    for (const auto& [name, part] : kOrder) named.emplace_back(name + suffix, &(order.*part));
    named.emplace_back("first_key_excess" + suffix, &excess);
  };
  add(measures.all_keys, measures.nearness, measures.order, measures.first_key_excess, "");
  add(measures.without_first_key, measures.nearness_without_first_key,
      measures.order_without_first_key, measures.first_key_excess_without_first_key,
      "_without_first_key");
  named.emplace_back("first_key_share", &measures.first_key_share);
  return named;
}

}  // namespace poslens
