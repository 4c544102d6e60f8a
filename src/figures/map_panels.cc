#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>

#include "poslens/decomposition.h"
#include "poslens/error.h"
#include "poslens/map_figure.h"

namespace poslens {
namespace {

constexpr const char* kHeads = "scores_heads";
constexpr const char* kCosine = "hidden_cosine";
constexpr std::string_view kGram = "gram_";

const std::vector<float>* find_array(const ScoreMap& map, const std::string& name) {
  if (name.starts_with(kGram)) {
    const auto found = map.gram.find(name.substr(kGram.size()));
    return found == map.gram.end() ? nullptr : &found->second;
  }
  const std::vector<float>* array = name == "scores"     ? &map.scores
                                    : name == "probs"    ? &map.probs
                                    : name == "variance" ? &map.variance
                                    : name == kHeads     ? &map.scores_heads
                                    : name == kCosine    ? &map.hidden_cosine
                                                         : nullptr;
  return array == nullptr || array->empty() ? nullptr : array;
}

const std::vector<float>& array_of(const ScoreMap& map, const std::string& name) {
  const std::vector<float>* array = find_array(map, name);
  if (array != nullptr) return *array;
  throw UsageError(fmt::format("--array {}: expected one that the map has, {}", name,
                               fmt::join(drawable_arrays(map), ", ")));
}

// What is drawn in a panel: the index of its n x n values in the array, and its title.
struct Place {
  std::size_t index;
  std::string title;
};

std::size_t place_of_layer(const ScoreMap& map, int layer) {
  const auto found = std::find(map.layers.begin(), map.layers.end(), layer);
  if (found != map.layers.end()) return static_cast<std::size_t>(found - map.layers.begin());
  throw UsageError(fmt::format("--layers {}: expected layers of the map, {}", layer,
                               fmt::join(map.layers, ", ")));
}

std::vector<int> heads_of(const ScoreMap& map, const MapFigureOptions& options) {
  std::vector<int> heads = options.heads;
  if (heads.empty()) {
    heads.resize(static_cast<std::size_t>(map.heads));
    std::iota(heads.begin(), heads.end(), 0);
  }
  for (const int head : heads) {
    if (head >= 0 && head < map.heads) continue;
    throw UsageError(
        fmt::format("--heads {}: expected heads of the map, 0 to {}", head, map.heads - 1));
  }
  return heads;
}

std::vector<Place> places_of(const ScoreMap& map, const MapFigureOptions& options) {
  std::vector<Place> places;
  const std::vector<int>& layers = options.layers.empty() ? map.layers : options.layers;
  for (const int layer : layers) {
    const std::size_t place = place_of_layer(map, layer);
    if (options.array == kHeads) {
      for (const int head : heads_of(map, options)) {
        places.push_back(
            {place * static_cast<std::size_t>(map.heads) + static_cast<std::size_t>(head),
             fmt::format("layer {}, head {}", layer + 1, head + 1)});
      }
    } else {
      places.push_back(
          {place, fmt::format("{}layer {}", options.array == kCosine ? "into " : "", layer + 1)});
    }
  }
  if (options.array == kCosine && options.layers.empty()) {
    places.push_back({map.layers.size(), fmt::format("after layer {}", map.layers.back() + 1)});
  }
  return places;
}

MatrixView<const float> values_at(const ScoreMap& map, const std::vector<float>& array,
                                  std::size_t index) {
  const auto n = static_cast<std::size_t>(map.n);
  return {array.data() + index * n * n, n, n};
}

void require_like(const ScoreMap& map, const ScoreMap& minus, const MapFigureOptions& options) {
  const auto require = [](const char* what, const std::string& a, const std::string& b) {
    if (a != b) throw Error(fmt::format("--minus: {} differ, {} and {}", what, a, b));
  };
  require("numbers of positions", std::to_string(map.positions()),
          std::to_string(minus.positions()));
  require("pools", std::to_string(map.pool), std::to_string(minus.pool));
  require("stages", to_string(map.stage), to_string(minus.stage));
  if (options.layers.empty()) {
    require("layers", fmt::format("{}", fmt::join(map.layers, ",")),
            fmt::format("{}", fmt::join(minus.layers, ",")));
  }
}

std::string array_in_words(const std::string& array) {
  if (array == "probs") return "mean attention probabilities";
  if (array == "variance") return "variance of scores";
  if (array == kCosine) return "mean cosine of the residual stream";
  if (array == kHeads) return "mean scores of heads";
  if (array.starts_with(kGram)) return "mean inner products (" + array + ")";
  return "mean scores";
}

}  // namespace

std::vector<std::string> drawable_arrays(const ScoreMap& map) {
  std::vector<std::string> names = {"scores", "probs", "variance", kHeads, kCosine};
  for (const auto& [stage, values] : map.gram) names.push_back(fmt::format("{}{}", kGram, stage));
  std::erase_if(names, [&](const std::string& name) { return find_array(map, name) == nullptr; });
  return names;
}

std::vector<Panel> map_panels(const ScoreMap& map, const MapFigureOptions& options,
                              const ScoreMap* minus) {
  if (!options.heads.empty() && (options.array != kHeads || map.heads == 0)) {
    throw UsageError(
        fmt::format("--heads: expected an artefact with {0} and --array {0}, found {1}", kHeads,
                    fmt::join(drawable_arrays(map), ", ")));
  }
  const std::vector<float>& array = array_of(map, options.array);
  const std::vector<Place> places = places_of(map, options);
  std::vector<Place> other_places;
  if (minus != nullptr) {
    require_like(map, *minus, options);
    other_places = places_of(*minus, options);
    if (other_places.size() != places.size()) {
      throw Error(fmt::format("--minus: numbers of panels differ, {} and {}", places.size(),
                              other_places.size()));
    }
  }
  std::vector<Panel> panels;
  for (std::size_t k = 0; k < places.size(); ++k) {
    Panel panel{places[k].title, Matrix<float>(values_at(map, array, places[k].index)), {}};
    if (minus != nullptr) {
      const auto other = values_at(*minus, array_of(*minus, options.array), other_places[k].index);
      std::transform(panel.values.values().begin(), panel.values.values().end(), other.data(),
                     panel.values.values().begin(), std::minus<>());
    }
    if (options.diagonal_normalised) panel.values = diagonal_normalised(panel.values.view());
    panels.push_back(std::move(panel));
  }
  return panels;
}

std::string map_figure_title(const ScoreMap& map, const MapFigureOptions& options,
                             bool difference) {
  const std::int64_t samples =
      map.count.empty() ? 0 : *std::max_element(map.count.begin(), map.count.end());
  const std::string& model = map.provenance.model;
  std::string title = fmt::format("{}: {}{}{}", model.empty() ? to_string(map.source) : model,
                                  difference ? "difference of " : "", array_in_words(options.array),
                                  options.diagonal_normalised ? ", diagonal-normalised" : "");
  if (map.source != Source::theory) title += fmt::format(" ({} samples)", samples);
  return title;
}

}  // namespace poslens
