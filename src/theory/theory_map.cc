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

ScoreMap to_map(const ParameterFreeSpec& spec, const std::vector<Matrix<double>>& scores,
                std::vector<int> layers, std::string averaging) {
  ScoreMap map = ScoreMap::sized(std::move(layers), spec.n);
  map.source = Source::theory;
  map.stage = Stage::scaled;
  const auto n = static_cast<std::size_t>(spec.n);
  for (std::size_t i = 0; i < n; ++i) {
    const KeyRange keys = spec.mask.keys(static_cast<std::int64_t>(i), spec.n);
    for (auto j = static_cast<std::size_t>(keys.first); j < static_cast<std::size_t>(keys.last);
         ++j) {
      map.count[i * n + j] = 1;
      for (std::size_t place = 0; place < scores.size(); ++place) {
        const auto score = static_cast<float>(scores[place](i, j));
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
  map.provenance.averaging = std::move(averaging);
  map.provenance.options = spec.options();
  map.provenance.program = std::string("poslens ") + kVersion;
  return map;
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
  return timed([&] {
    std::vector<int> layers(static_cast<std::size_t>(spec.layer_count));
    std::iota(layers.begin(), layers.end(), 0);
    return to_map(spec, mean_field_scores(spec), std::move(layers),
                  "expectation in the limit of large dim, by the mean-field recursion");
  });
}

ScoreMap closed_form_map(const ParameterFreeSpec& spec) {
  return timed([&] {
    return to_map(spec, {closed_form_layer2(spec)}, {1},
                  "expectation in the limit of large dim, in closed form");
  });
}

}  // namespace poslens
