// Every family against transformers: scores, single heads, probabilities and loss, as it is and
// under interventions, in both styles of config.json and in GGUF. README.md beside this file lists
// what each fixture holds; families_mutation_test.cc shows that each of them would notice.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "model/families/families.h"
#include "model/golden_fixture.h"
#include "model/reference_decoder.h"

namespace poslens {
namespace {

using Style = GoldenFixture::Style;

struct Tested {
  std::string name;
  Style style;
};

std::string text_of(const Tested& tested) {
  switch (tested.style) {
    case Style::v4:
      return tested.name + "_v4";
    case Style::gguf:
      return tested.name + "_gguf";
    case Style::v5:
      break;
  }
  return tested.name + "_v5";
}
void PrintTo(const Tested& tested, std::ostream* out) { *out << text_of(tested); }

class FamiliesGolden : public testing::TestWithParam<Tested> {};

TEST_P(FamiliesGolden, ScoresAndLossInF32) {
  const GoldenFixture golden(GetParam().name, GetParam().style);
  for (const std::string& text : golden.cases()) {
    SCOPED_TRACE(text);
    const ModelSpec spec = golden.changed(text);
    const ScoreMap map = run_decoder(golden.checkpoint(), spec, golden.batch(), {});
    EXPECT_LT(golden.deviation(map, text, spec), 1e-4);
  }
}

TEST_P(FamiliesGolden, HeadsProbabilitiesAndResidualStreamInF32) {
  const GoldenFixture golden(GetParam().name, GetParam().style);
  const ModelSpec& spec = golden.spec();
  DecoderOptions options;
  options.per_head = options.probs = options.hidden = true;
  const ScoreMap map = run_decoder(golden.checkpoint(), spec, golden.batch(), options);
  EXPECT_LT(golden.deviation(map, "plain", spec), 1e-4);
  for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
    EXPECT_LT(golden.deviation(map.scores_heads, "plain", "scores_heads", spec, layer), 1e-4);
    EXPECT_LT(golden.deviation(map.probs, "plain", "probs", spec, layer), 1e-5);
  }
  EXPECT_THAT(map.hidden,
              testing::Pointwise(testing::FloatNear(1e-4F), golden.floats("plain hidden")));
}

TEST_P(FamiliesGolden, ScoresInBf16) {
  const GoldenFixture golden(GetParam().name, GetParam().style);
  DecoderOptions options;
  options.compute_type = ComputeType::bf16;
  for (const std::string& text : golden.cases()) {
    SCOPED_TRACE(text);
    const ModelSpec spec = golden.changed(text);
    const ScoreMap map = run_decoder(golden.checkpoint(), spec, golden.batch(), options);
    for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
      EXPECT_LT(golden.deviation(map.scores, text, "scores", spec, layer),
                0.02 * golden.range(text, spec, layer));
    }
  }
}

// The readable decoder that other tests compare with, and the residual stream.
class FamiliesReference : public testing::TestWithParam<std::string> {};

TEST_P(FamiliesReference, HiddenAndLoss) {
  const GoldenFixture golden(GetParam());
  const ReferenceResult result = run_reference(golden.checkpoint(), golden.spec(), golden.batch());
  const std::vector<float> hidden = golden.floats("plain hidden");
  std::size_t at = 0;
  for (std::size_t layer = 0; layer <= golden.spec().layers.size(); ++layer) {
    for (std::size_t p = 0; p < static_cast<std::size_t>(golden.batch().length); ++p) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(golden.spec().hidden); ++i, ++at) {
        double mean = 0;
        for (const auto& sequence : result.hidden) mean += sequence[layer][p][i];
        mean /= static_cast<double>(result.hidden.size());
        ASSERT_NEAR(mean, hidden[at], 1e-4) << "layer " << layer << ", position " << p;
      }
    }
  }
  const std::vector<double> loss = golden.doubles("plain loss");
  for (std::size_t p = 0; p < loss.size(); ++p) {
    double mean = 0;
    for (const auto& sequence : result.loss) mean += sequence[p];
    EXPECT_NEAR(mean / static_cast<double>(result.loss.size()), loss[p], 1e-4);
  }
}

std::vector<Tested> all_fixtures() {
  std::vector<Tested> all;
  for (const std::string& name : GoldenFixture::names()) {
    all.push_back({name, Style::v5});
    all.push_back({name, Style::v4});
  }
  for (const std::string& name : GoldenFixture::names_with_gguf()) {
    all.push_back({name, Style::gguf});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Fixtures, FamiliesGolden, testing::ValuesIn(all_fixtures()),
                         [](const auto& tested) { return text_of(tested.param); });

INSTANTIATE_TEST_SUITE_P(Fixtures, FamiliesReference, testing::ValuesIn(GoldenFixture::names()),
                         [](const auto& tested) { return tested.param; });

TEST(Families, HaveTwoFixturesEach) {
  std::map<std::string, int> fixtures;
  for (const std::string& name : GoldenFixture::names()) {
    const GoldenFixture golden(name);
    ++fixtures[golden.checkpoint().config()->text("model_type")];
  }
  fixtures["gemma3"] += fixtures["gemma3_text"];  // which are one reader
  for (const Family& family : families()) {
    EXPECT_GE(fixtures[std::string(family.model_type)], 2) << family.model_type;
  }
}

}  // namespace
}  // namespace poslens
