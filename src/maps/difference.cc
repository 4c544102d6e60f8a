#include "poslens/difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "poslens/error.h"
#include "poslens/version.h"

namespace poslens {
namespace {

template <typename T>
void require_same(const char* what, const T& a, const T& b) {
  if (a != b) throw Error(fmt::format("{} differ: {} and {}", what, a, b));
}

// Hidden pairs are NaN on one side, and so in the difference.
template <typename T>
std::vector<T> subtract(const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> result(a.size());
  std::transform(a.begin(), a.end(), b.begin(), result.begin(), std::minus<>());
  return result;
}

std::string in_words(const ScoreMap& map) {
  const Provenance& provenance = map.provenance;
  std::string words = to_string(map.source);
  if (!provenance.model.empty()) words += " " + provenance.model;
  if (!provenance.averaging.empty()) words += ", " + provenance.averaging;
  if (!provenance.interventions.empty()) {
    words += fmt::format(", {}", fmt::join(provenance.interventions, ", "));
  }
  return words;
}

}  // namespace

ScoreMap difference(const ScoreMap& a, const ScoreMap& b) {
  require_same("pools", a.pool, b.pool);
  require_same("numbers of positions", a.positions(), b.positions());
  require_same("layers", fmt::format("{}", fmt::join(a.layers, ",")),
               fmt::format("{}", fmt::join(b.layers, ",")));
  require_same("stages", to_string(a.stage), to_string(b.stage));
  ScoreMap result;
  result.source = a.source;
  result.stage = a.stage;
  result.n = a.n;
  result.pool = a.pool;
  result.pooled_positions = a.pooled_positions;
  result.layers = a.layers;
  result.scores = subtract(a.scores, b.scores);
  result.count.resize(a.count.size());
  std::transform(a.count.begin(), a.count.end(), b.count.begin(), result.count.begin(),
                 [](std::int64_t x, std::int64_t y) { return std::min(x, y); });
  if (a.groups == b.groups && !a.scores_groups.empty() && !b.scores_groups.empty()) {
    result.groups = a.groups;
    result.scores_groups = subtract(a.scores_groups, b.scores_groups);
  }
  for (const auto& [name, values] : a.profiles) {
    const auto other = b.profiles.find(name);
    if (other != b.profiles.end()) result.profiles[name] = subtract(values, other->second);
  }
  const auto shared = [&](std::string Provenance::*field) {
    if (a.provenance.*field == b.provenance.*field) {
      result.provenance.*field = a.provenance.*field;
    }
  };
  shared(&Provenance::model);
  shared(&Provenance::model_fingerprint);
  shared(&Provenance::bos_policy);
  shared(&Provenance::text);
  shared(&Provenance::text_fingerprint);
  result.provenance.averaging =
      fmt::format("difference a - b; a: {}; b: {}", in_words(a), in_words(b));
  result.provenance.program = std::string("poslens ") + kVersion;
  return result;
}

}  // namespace poslens
