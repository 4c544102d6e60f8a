#include "poslens/score_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "maps/meta.h"
#include "poslens/error.h"
#include "poslens/gram.h"
#include "poslens/npz.h"

namespace poslens {
namespace {

const std::string kSum = "sum_";
const std::string kGram = "gram_";

// Optional arrays of one number a layer.
constexpr std::pair<const char*, std::vector<double> ScoreMap::*> kLayerNumbers[] = {
    {"recency", &ScoreMap::recency},
    {"monotonicity", &ScoreMap::monotonicity},
    {"readout_r2", &ScoreMap::readout_r2},
    {"readout_error", &ScoreMap::readout_error},
};

// The same for what enters each layer and what leaves the last; the second without each of some
// groups of sequences.
constexpr std::pair<const char*, std::vector<double> ScoreMap::*> kPlaneNumbers[] = {
    {"decoding_r2", &ScoreMap::decoding_r2},
    {"decoding_error", &ScoreMap::decoding_error},
};
constexpr std::pair<const char*, std::vector<double> ScoreMap::*> kPlaneGroups[] = {
    {"decoding_r2_leave_one_out", &ScoreMap::decoding_r2_leave_one_out},
    {"decoding_error_leave_one_out", &ScoreMap::decoding_error_leave_one_out},
};

// Takes arrays out of an archive, checking type and shape.
class ArrayReader {
 public:
  ArrayReader(const NpzContents& contents, std::string file)
      : contents_(contents), file_(std::move(file)) {}

  bool has(const std::string& name) const { return contents_.arrays.contains(name); }

  const std::vector<std::int64_t>& shape(const std::string& name, std::size_t rank) const {
    const Array& array = find(name);
    if (array.shape.size() != rank) {
      throw Error(fmt::format("{}: {}: expected {} dimensions, found {}", file_, name, rank,
                              array.shape.size()));
    }
    return array.shape;
  }

  template <typename T>
  std::vector<T> take(const std::string& name, ArrayType type,
                      const std::vector<std::int64_t>& expected) const {
    const Array& array = find(name);
    if (array.type != type) throw Error(file_ + ": " + name + ": values of an unexpected type");
    if (array.shape != expected) {
      throw Error(fmt::format("{}: {}: expected shape [{}], found [{}]", file_, name,
                              fmt::join(expected, ", "), fmt::join(array.shape, ", ")));
    }
    return array.values<T>();
  }

  std::vector<float> take_if(const std::string& name,
                             const std::vector<std::int64_t>& expected) const {
    return has(name) ? take<float>(name, ArrayType::f32, expected) : std::vector<float>();
  }

 private:
  const Array& find(const std::string& name) const {
    const auto found = contents_.arrays.find(name);
    if (found == contents_.arrays.end()) throw Error(file_ + ": has no array '" + name + "'");
    return found->second;
  }

  const NpzContents& contents_;
  std::string file_;
};

std::int64_t profile_extent(const std::string& name, std::int64_t positions) {
  return name.ends_with("_diagonals") ? 2 * positions - 1 : positions;
}

MatrixView<const float> square(const std::vector<float>& values, std::size_t place,
                               std::int64_t n) {
  const auto side = static_cast<std::size_t>(n);
  return {values.data() + place * side * side, side, side};
}

}  // namespace

MatrixView<const float> ScoreMap::layer(std::size_t place) const {
  return square(scores, place, n);
}

MatrixView<const float> ScoreMap::group_layer(std::size_t group, std::size_t place) const {
  return square(scores_groups, group * layers.size() + place, n);
}

std::vector<MatrixView<const float>> ScoreMap::group_layers(std::size_t place) const {
  if (scores_groups.empty()) return {layer(place)};
  std::vector<MatrixView<const float>> maps;
  for (std::int64_t group = 0; group < groups; ++group) {
    maps.push_back(group_layer(static_cast<std::size_t>(group), place));
  }
  return maps;
}

std::size_t ScoreMap::place_of(int layer_number) const {
  const auto found = std::find(layers.begin(), layers.end(), layer_number);
  if (found == layers.end()) {
    throw Error(
        fmt::format("layer {}: the map has layers {}", layer_number, fmt::join(layers, ", ")));
  }
  return static_cast<std::size_t>(found - layers.begin());
}

ScoreMap ScoreMap::sized(std::vector<int> layer_numbers, std::int64_t n) {
  ScoreMap map;
  map.n = n;
  map.layers = std::move(layer_numbers);
  const auto square_size = static_cast<std::size_t>(n * n);
  map.scores.assign(map.layers.size() * square_size, std::numeric_limits<float>::quiet_NaN());
  map.count.assign(square_size, 0);
  return map;
}

void save(const ScoreMap& map, const std::filesystem::path& path) {
  const auto layers = static_cast<std::int64_t>(map.layers.size());
  const std::vector<std::int64_t> shape = {layers, map.n, map.n};
  std::vector<ArrayRef> arrays;
  arrays.push_back(array_ref("layers", {layers}, std::span<const std::int32_t>(map.layers)));
  arrays.push_back(array_ref("scores", shape, std::span(map.scores)));
  arrays.push_back(array_ref("count", {map.n, map.n}, std::span(map.count)));
  if (!map.variance.empty()) {
    arrays.push_back(array_ref("variance", shape, std::span(map.variance)));
  }
  if (!map.probs.empty()) arrays.push_back(array_ref("probs", shape, std::span(map.probs)));
  if (!map.scores_groups.empty()) {
    arrays.push_back(array_ref("scores_groups", {map.groups, layers, map.n, map.n},
                               std::span(map.scores_groups)));
  }
  if (!map.scores_heads.empty()) {
    arrays.push_back(
        array_ref("scores_heads", {layers, map.heads, map.n, map.n}, std::span(map.scores_heads)));
  }
  if (!map.loss.empty()) {
    arrays.push_back(array_ref("loss", {map.positions() - 1}, std::span(map.loss)));
  }
  for (const auto& [name, values] : map.profiles) {
    arrays.push_back(
        array_ref(name, {layers, profile_extent(name, map.positions())}, std::span(values)));
  }
  for (const auto& [name, field] : kLayerNumbers) {
    const std::vector<double>& values = map.*field;
    if (!values.empty()) arrays.push_back(array_ref(name, {layers}, std::span(values)));
  }
  for (const auto& [name, field] : kPlaneNumbers) {
    const std::vector<double>& values = map.*field;
    if (!values.empty()) arrays.push_back(array_ref(name, {layers + 1}, std::span(values)));
  }
  for (const auto& [name, field] : kPlaneGroups) {
    const std::vector<double>& values = map.*field;
    if (values.empty()) continue;
    const std::int64_t groups = std::ssize(values) / (layers + 1);
    arrays.push_back(array_ref(name, {groups, layers + 1}, std::span(values)));
  }
  if (!map.hidden_norm.empty()) {
    arrays.push_back(array_ref("hidden_norm", {layers + 1, map.n}, std::span(map.hidden_norm)));
  }
  if (!map.hidden_cosine.empty()) {
    arrays.push_back(
        array_ref("hidden_cosine", {layers + 1, map.n, map.n}, std::span(map.hidden_cosine)));
  }
  for (const auto& [name, values] : map.gram) {
    arrays.push_back(array_ref(kGram + name, shape, std::span(values)));
  }
  if (!map.hidden.empty()) {
    arrays.push_back(array_ref("hidden", {layers + 1, map.positions(), map.hidden_width},
                               std::span(map.hidden)));
  }
  for (const auto& [name, values] : map.sums) {
    arrays.push_back(
        array_ref(kSum + name, {static_cast<std::int64_t>(values.size())}, std::span(values)));
  }
  write_npz(path, arrays, {{"meta.json", meta_json(map)}});
}

ScoreMap load_score_map(const std::filesystem::path& path) {
  const NpzContents contents = read_npz(path);
  const ArrayReader reader(contents, path.string());
  ScoreMap map;
  const auto meta = contents.texts.find("meta.json");
  if (meta == contents.texts.end()) throw Error(path.string() + ": has no meta.json");
  try {
    read_meta(meta->second, map);
  } catch (const Error& error) {
    throw Error(path.string() + ": meta.json: " + error.what());
  }
  const std::int64_t layers = reader.shape("layers", 1)[0];
  map.n = reader.shape("count", 2)[0];
  const std::vector<std::int64_t> shape = {layers, map.n, map.n};
  map.layers = reader.take<std::int32_t>("layers", ArrayType::i32, {layers});
  if (map.n < 1) throw Error(path.string() + ": count: expected at least 1 x 1 entries");
  if (layers < 1 || map.layers.front() < 0 ||
      std::adjacent_find(map.layers.begin(), map.layers.end(), std::greater_equal<>()) !=
          map.layers.end()) {
    throw Error(path.string() + ": layers: expected layer numbers in ascending order from 0 on");
  }
  map.scores = reader.take<float>("scores", ArrayType::f32, shape);
  map.count = reader.take<std::int64_t>("count", ArrayType::i64, {map.n, map.n});
  map.variance = reader.take_if("variance", shape);
  map.probs = reader.take_if("probs", shape);
  if (reader.has("scores_groups")) {
    map.groups = reader.shape("scores_groups", 4)[0];
    map.scores_groups = reader.take_if("scores_groups", {map.groups, layers, map.n, map.n});
  }
  if (reader.has("scores_heads")) {
    map.heads = reader.shape("scores_heads", 4)[1];
    map.scores_heads = reader.take_if("scores_heads", {layers, map.heads, map.n, map.n});
  }
  if (map.pool > 1 && (map.pooled_positions + map.pool - 1) / map.pool != map.n) {
    throw Error(fmt::format("{}: count: expected {} positions in blocks of {}, found {} blocks",
                            path.string(), map.pooled_positions, map.pool, map.n));
  }
  if (reader.has("loss")) {
    map.loss = reader.take<double>("loss", ArrayType::f64, {map.positions() - 1});
  }
  for (const char* what : {"scores", "probs"}) {
    for (const char* kind : {"rows", "columns", "diagonals"}) {
      const std::string name = fmt::format("{}_{}", what, kind);
      if (!reader.has(name)) continue;
      map.profiles[name] = reader.take<double>(name, ArrayType::f64,
                                               {layers, profile_extent(name, map.positions())});
    }
  }
  for (const auto& [name, field] : kLayerNumbers) {
    if (reader.has(name)) map.*field = reader.take<double>(name, ArrayType::f64, {layers});
  }
  for (const auto& [name, field] : kPlaneNumbers) {
    if (reader.has(name)) map.*field = reader.take<double>(name, ArrayType::f64, {layers + 1});
  }
  for (const auto& [name, field] : kPlaneGroups) {
    if (!reader.has(name)) continue;
    const std::int64_t groups = reader.shape(name, 2)[0];
    map.*field = reader.take<double>(name, ArrayType::f64, {groups, layers + 1});
  }
  map.hidden_norm = reader.take_if("hidden_norm", {layers + 1, map.n});
  map.hidden_cosine = reader.take_if("hidden_cosine", {layers + 1, map.n, map.n});
  for (const char* name : kGramNames) {
    const std::string array = kGram + name;
    if (reader.has(array)) map.gram[name] = reader.take_if(array, shape);
  }
  if (reader.has("hidden")) {
    map.hidden_width = reader.shape("hidden", 3)[2];
    map.hidden = reader.take_if("hidden", {layers + 1, map.positions(), map.hidden_width});
  }
  for (const auto& [name, array] : contents.arrays) {
    if (!name.starts_with(kSum)) continue;
    map.sums[name.substr(kSum.size())] =
        reader.take<std::int64_t>(name, ArrayType::i64, {reader.shape(name, 1)[0]});
  }
  return map;
}

}  // namespace poslens
