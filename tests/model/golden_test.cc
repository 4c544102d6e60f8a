// Tiny checkpoints with random parameters against transformers (tools/golden/model_llama.py).
// README.md beside this file lists which mistake each of them shows.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include "poslens/checkpoint.h"
#include "poslens/decoder.h"
#include "poslens/intervention.h"
#include "poslens/npz.h"

namespace poslens {
namespace {

struct Golden {
  std::unique_ptr<Checkpoint> checkpoint;
  ModelSpec spec;
  NpzContents expected;
  TokenBatch batch;

  std::vector<float> floats(const std::string& name) const {
    return expected.arrays.at(name).values<float>();
  }
};

Golden open_golden(const std::string& name) {
  const std::filesystem::path folder = std::filesystem::path(POSLENS_TEST_DATA) / "golden";
  Golden golden;
  golden.checkpoint = Checkpoint::open(folder / (name + ".gguf"));
  golden.spec = read_model_spec(*golden.checkpoint);
  golden.expected = read_npz(folder / (name + ".npz"));
  const Array& tokens = golden.expected.arrays.at("tokens");
  golden.batch = {tokens.shape[1], tokens.values<std::int32_t>()};
  return golden;
}

struct Case {
  const char* name;
  std::vector<std::string> interventions;
};
const Case kCases[] = {
    {"plain", {}},
    {"norope", {"rope=none"}},
    {"norope_layer1", {"rope=none@1"}},
    {"full", {"mask=full"}},
    {"window5", {"mask=window:5"}},
    {"prefix6", {"mask=prefix:6"}},
    {"shift1000", {"positions=+1000"}},
};
constexpr const char* kModels[] = {"llama_plain",  "llama_biases_tied", "llama_divisors",
                                   "llama_linear", "llama_q8_0",        "llama_q4_1"};

ModelSpec changed(const ModelSpec& spec, const Case& tested) {
  std::vector<Intervention> interventions;
  for (const std::string& text : tested.interventions) {
    interventions.push_back(parse_intervention(text));
  }
  return poslens::apply(spec, interventions);
}

// The largest deviation over the pairs that a layer shows; the hidden ones must be NaN.
// maps: [layers, planes, n, n]
double largest_deviation(const ModelSpec& spec, const std::vector<float>& found,
                         const std::vector<float>& expected, std::int64_t n, std::size_t layer,
                         std::size_t planes = 1) {
  EXPECT_EQ(found.size(), expected.size());
  const auto square = static_cast<std::size_t>(n * n);
  double largest = 0;
  for (std::size_t k = 0; k < planes * square; ++k) {
    const std::size_t at = layer * planes * square + k;
    const auto pair = static_cast<std::int64_t>(k % square);
    if (spec.layers[layer].attention.mask.visible(pair / n, pair % n)) {
      const double deviation = std::abs(double{found[at]} - expected[at]);
      if (!(deviation <= largest)) largest = deviation;  // NaN too
    } else {
      EXPECT_TRUE(std::isnan(found[at])) << "layer " << layer << ", pair " << pair;
    }
  }
  return largest;
}

double range_of(const std::vector<float>& maps, std::size_t layer, std::int64_t n) {
  const std::int64_t square = n * n;
  const auto first = maps.begin() + static_cast<std::int64_t>(layer) * square;
  const auto [low, high] = std::minmax_element(first, first + square);
  return double{*high} - *low;
}

class GoldenLlama : public testing::TestWithParam<const char*> {};

TEST_P(GoldenLlama, ScoresAndLossInF32) {
  const Golden golden = open_golden(GetParam());
  for (const Case& tested : kCases) {
    SCOPED_TRACE(tested.name);
    const ModelSpec spec = changed(golden.spec, tested);
    const ScoreMap map = run_decoder(*golden.checkpoint, spec, golden.batch, {});
    const std::vector<float> expected = golden.floats(std::string(tested.name) + "_scores");
    ASSERT_EQ(map.layers.size(), spec.layers.size());
    for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
      EXPECT_LT(largest_deviation(spec, map.scores, expected, map.n, layer), 1e-4)
          << "layer " << layer;
    }
    const auto loss =
        golden.expected.arrays.at(std::string(tested.name) + "_loss").values<double>();
    EXPECT_THAT(map.loss, testing::Pointwise(testing::DoubleNear(1e-4), loss));
  }
}

TEST_P(GoldenLlama, HeadsProbabilitiesAndVarianceInF32) {
  const Golden golden = open_golden(GetParam());
  DecoderOptions options;
  options.per_head = options.probs = options.variance = true;
  const ScoreMap map = run_decoder(*golden.checkpoint, golden.spec, golden.batch, options);
  for (std::size_t layer = 0; layer < golden.spec.layers.size(); ++layer) {
    const auto deviation = [&](const std::vector<float>& found, const char* name,
                               std::size_t planes = 1) {
      return largest_deviation(golden.spec, found, golden.floats(name), map.n, layer, planes);
    };
    EXPECT_LT(deviation(map.scores, "plain_scores"), 1e-4);
    EXPECT_LT(
        deviation(map.scores_heads, "plain_scores_heads", static_cast<std::size_t>(map.heads)),
        1e-4);
    EXPECT_LT(deviation(map.probs, "plain_probs"), 1e-5);
    EXPECT_LT(deviation(map.variance, "plain_variance"), 1e-4);
  }
}

TEST_P(GoldenLlama, ScoresInBf16) {
  const Golden golden = open_golden(GetParam());
  DecoderOptions options;
  options.compute_type = ComputeType::bf16;
  for (const Case& tested : kCases) {
    SCOPED_TRACE(tested.name);
    const ModelSpec spec = changed(golden.spec, tested);
    const ScoreMap map = run_decoder(*golden.checkpoint, spec, golden.batch, options);
    const std::vector<float> expected = golden.floats(std::string(tested.name) + "_scores");
    for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
      EXPECT_LT(largest_deviation(spec, map.scores, expected, map.n, layer),
                0.02 * range_of(expected, layer, map.n))
          << "layer " << layer;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenLlama, testing::ValuesIn(kModels),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace poslens
