#include "poslens/measures.h"

#include <fmt/format.h>

#include "poslens/error.h"
#include "poslens/threads.h"

namespace poslens {
namespace {

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
    measures.all_keys = decompose(groups, {0});
    measures.without_first_key = decompose(groups, {1});
    measures.nearness = nearness_slope(groups, {0});
    measures.nearness_without_first_key = nearness_slope(groups, {1});
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
  const auto add = [&](const Decomposition& parts, const Estimate& nearness,
                       const std::string& suffix) {
    for (const auto& [name, part] : kParts) named.emplace_back(name + suffix, &(parts.*part));
    named.emplace_back("nearness" + suffix, &nearness);
  };
  add(measures.all_keys, measures.nearness, "");
  add(measures.without_first_key, measures.nearness_without_first_key, "_without_first_key");
  return named;
}

}  // namespace poslens
