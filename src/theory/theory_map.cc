// Theory as artefacts.

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <numeric>

#include "poslens/error.h"
#include "poslens/resources.h"
#include "poslens/theory.h"
#include "poslens/version.h"

namespace poslens {
namespace {

ScoreMap empty_map(const ParameterFreeSpec& spec, std::vector<int> layers, std::string averaging) {
  ScoreMap map = ScoreMap::sized(std::move(layers), spec.n);
  map.source = Source::theory;
  map.stage = spec.alibi_slope ? Stage::biased : Stage::scaled;
  map.provenance.averaging = std::move(averaging);
  map.provenance.options = spec.options();
  map.provenance.program = std::string("poslens ") + kVersion;
  return map;
}

// matrices: of n x n doubles that there are at a time, beside the map.
void require_map_memory(const ParameterFreeSpec& spec, int layers, int matrices) {
  const std::int64_t pair = matrices * std::int64_t{sizeof(double)} +
                            layers * std::int64_t{sizeof(float)} +
                            std::int64_t{sizeof(std::int64_t)};
  require_memory(spec.n * spec.n * pair, fmt::format("--n {} --layers {}", spec.n, layers));
}

// The layer at this place: its scores, and 1 in count where its mask lets a pair through.
void set_layer(ScoreMap& map, std::size_t place, const Matrix<double>& scores, const Mask& mask) {
  const auto n = static_cast<std::size_t>(map.n);
  for (std::size_t i = 0; i < n; ++i) {
    const KeyRange keys = mask.keys(static_cast<std::int64_t>(i), map.n);
    for (auto j = static_cast<std::size_t>(keys.first); j < static_cast<std::size_t>(keys.last);
         j += static_cast<std::size_t>(keys.step)) {
      map.count[i * n + j] = 1;
      const auto score = static_cast<float>(scores(i, j));
      if (!std::isfinite(score)) {
        throw Error(
            fmt::format("layer {}: the scores are too large for the artefact's 32-bit "
                        "numbers; use a norm, fewer layers or a smaller --input-norm",
                        map.layers[place]));
      }
      map.scores[(place * n + i) * n + j] = score;
    }
  }
}

// Fills in what the work took.
template <typename Work>
ScoreMap timed(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  ScoreMap map = work();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  map.provenance.seconds = elapsed.count();
  map.provenance.peak_memory_bytes = peak_memory_bytes();
  return map;
}

}  // namespace

ScoreMap mean_field_map(const ParameterFreeSpec& spec) {
  spec.validate();
  require_map_memory(spec, spec.layer_count, 4);
  return timed([&] {
    std::vector<int> layers(static_cast<std::size_t>(spec.layer_count));
    std::iota(layers.begin(), layers.end(), 0);
    ScoreMap map = empty_map(spec, std::move(layers),
                             "expectation in the limit of large dim, by the mean-field recursion");
    mean_field(spec, [&](int layer, const Matrix<double>& scores) {
      set_layer(map, static_cast<std::size_t>(layer), scores, spec.mask_of(layer));
    });
    return map;
  });
}

ScoreMap closed_form_map(const ParameterFreeSpec& spec) {
  spec.validate();
  require_map_memory(spec, 1, 1);
  return timed([&] {
    const Matrix<double> scores = closed_form_layer2(spec);
    ScoreMap map = empty_map(spec, {1}, "expectation in the limit of large dim, in closed form");
    set_layer(map, 0, scores, spec.mask_of(1));
    return map;
  });
}

}  // namespace poslens
