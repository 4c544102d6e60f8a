// The answer's rules, on measures made up for each case.
#include "report/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "report/answer_effects.h"

namespace poslens {
namespace {

using testing::HasSubstr;
using testing::Not;

// A value whose jackknife standard error is `error`.
Estimate known(double value, double error) {
  constexpr double kPattern[] = {1, -1, 1, -1, 1, -1, 1, -1};
  std::vector<double> leave_one_out;
  for (const double sign : kPattern) leave_one_out.push_back(value + sign * error / std::sqrt(7));
  return jackknife(value, std::move(leave_one_out));
}

struct Numbers {
  double total = 0;
  double nonrelative = 0;
  double error = 0.01;  // of both; the share's follows
};

Decomposition parts(const Numbers& numbers) {
  Decomposition result;
  result.total = known(numbers.total, numbers.error);
  // Errors of another pattern, so that they do not cancel in shares.
  Estimate nonrelative = known(numbers.nonrelative, numbers.error);
  std::swap(nonrelative.leave_one_out[0], nonrelative.leave_one_out[1]);
  std::swap(nonrelative.leave_one_out[2], nonrelative.leave_one_out[3]);
  result.nonrelative = nonrelative;
  result.nonrelative_share = ratio(nonrelative, result.total);
  return result;
}

CellResult cell(const std::string& name, const std::vector<Numbers>& layers) {
  CellResult result;
  result.cell.name = name;
  int number = 0;
  for (const Numbers& numbers : layers) {
    LayerMeasures measures;
    measures.layer = number++;
    measures.all_keys = measures.without_first_key = parts(numbers);
    result.layers.push_back(measures);
  }
  return result;
}

struct Case {
  std::vector<Numbers> rope_causal, rope_full, norope_causal, norope_full, shuffled;
  std::vector<Estimate> variation;
};

Analysis conclude_on(const Case& numbers) {
  Analysis analysis;
  analysis.model_name = "Model";
  analysis.length = 64;
  analysis.sequences = 32;
  analysis.groups = 8;
  analysis.cells.push_back(cell("rope_causal", numbers.rope_causal));
  analysis.cells.push_back(cell("rope_full", numbers.rope_full));
  analysis.cells.push_back(cell("norope_causal", numbers.norope_causal));
  analysis.cells.push_back(cell("norope_full", numbers.norope_full));
  analysis.cells.push_back(cell("control_shuffled", numbers.shuffled));
  analysis.cells.push_back(cell("control_null", numbers.norope_full));
  analysis.cells.back().variation = numbers.variation;
  conclude(analysis);
  return analysis;
}

double finding(const Analysis& analysis, const std::string& name) {
  for (const auto& [known_name, estimate] : analysis.findings) {
    if (known_name == name) return estimate.value;
  }
  ADD_FAILURE() << name;
  return NAN;
}

// As the paper finds it: the mask makes a part that is not relative.
Case mask_makes_it() {
  return {{{4, 0}, {6, 3}}, {{4, 0}, {5, 0.1}}, {{0, 0}, {1, 0.9}},
          {{0, 0}, {0, 0}}, {{4, 0}, {6, 3}},   {known(0.001, 0.01), known(-0.002, 0.01)}};
}

TEST(Answer, TheMaskMakesANonrelativePart) {
  const Analysis analysis = conclude_on(mask_makes_it());
  EXPECT_THAT(analysis.answer, HasSubstr("Most of the position signal of Model is relative"));
  EXPECT_THAT(analysis.answer, HasSubstr("Layer 1, whose scores no attention has touched, is "
                                         "relative up to noise"));
  EXPECT_THAT(analysis.answer, HasSubstr("the mask makes most of what is not relative"));
  EXPECT_THAT(analysis.answer, HasSubstr("no change beyond noise"));
  EXPECT_THAT(analysis.answer, HasSubstr("belongs to the model and not to the text"));
  EXPECT_THAT(analysis.answer, HasSubstr("It is, up to noise"));
  EXPECT_THAT(analysis.answer, HasSubstr("50.0"));
  EXPECT_THAT(analysis.answer, HasSubstr("(layer 2)"));
  EXPECT_NEAR(finding(analysis, "nonrelative_share_rope_causal"), 3. / 10, 1e-12);
  EXPECT_NEAR(finding(analysis, "total_left_rope_full"), 9. / 10, 1e-12);
  EXPECT_NEAR(finding(analysis, "nonrelative_left_rope_full"), 0.1 / 3, 1e-12);
  EXPECT_NEAR(finding(analysis, "total_left_norope_causal"), 1. / 10, 1e-12);
  EXPECT_NEAR(finding(analysis, "largest_layer_share"), 0.5, 1e-12);
}

// The opposite in every point.
TEST(Answer, ARelativeModelIsSaidToBeRelative) {
  Case numbers = mask_makes_it();
  numbers.rope_causal = numbers.rope_full = {{4, 0.001}, {6, 0.002}};
  numbers.shuffled = {{0.1, 0}, {0.1, 0}};
  const Analysis analysis = conclude_on(numbers);
  EXPECT_THAT(analysis.answer, HasSubstr("The position signal of Model is relative up to noise"));
  EXPECT_THAT(analysis.answer, Not(HasSubstr("the mask makes")));
  EXPECT_THAT(analysis.answer, HasSubstr("Most of the signal belongs to this text"));
}

TEST(Answer, ANonrelativePartThatTheMaskDoesNotMake) {
  Case numbers = mask_makes_it();
  numbers.rope_causal = {{4, 3}, {6, 5}};
  numbers.rope_full = {{4, 2.9}, {6, 5}};
  numbers.shuffled = {{4, 0}, {6, 4}};
  const Analysis analysis = conclude_on(numbers);
  EXPECT_THAT(analysis.answer, HasSubstr("Less than half of the position signal of Model is "
                                         "relative"));
  EXPECT_THAT(analysis.answer, HasSubstr("does not make most of what is not relative"));
  EXPECT_THAT(analysis.answer, HasSubstr("is relative but for a part beyond noise"));
  EXPECT_THAT(analysis.answer, HasSubstr("Shuffling takes it away"));
  EXPECT_THAT(analysis.answer, HasSubstr("a change beyond noise"));
}

TEST(Answer, AboutHalfIsSaidWhereNoiseHidesTheSide) {
  Case numbers = mask_makes_it();
  numbers.rope_causal = {{4, 2}, {6, 2.995}};
  EXPECT_THAT(conclude_on(numbers).answer, HasSubstr("About half of the position signal"));
}

TEST(Answer, TheFirstLayersPartMayStay) {
  Case numbers = mask_makes_it();
  numbers.rope_causal[0] = numbers.shuffled[0] = {4, 1};
  EXPECT_THAT(conclude_on(numbers).answer, HasSubstr("The text alone does not explain it"));
  numbers.rope_causal[0] = {0, 0};
  EXPECT_THAT(conclude_on(numbers).answer, HasSubstr("has no signal beyond noise"));
}

TEST(Answer, WithoutRopeNothingMayBeLeft) {
  EXPECT_THAT(conclude_on(mask_makes_it()).answer,
              HasSubstr("It is what the causal mask alone gives"));
  Case numbers = mask_makes_it();
  numbers.norope_causal = {{0.001, 0}, {-0.002, 0}};
  const Analysis analysis = conclude_on(numbers);
  EXPECT_THAT(analysis.answer, Not(HasSubstr("It is what the causal mask alone gives")));
}

TEST(Answer, WhatTheTextPutsInPlacesIsNamed) {
  EXPECT_THAT(conclude_on(mask_makes_it()).answer, Not(HasSubstr("what stands where in the text")));
  Case numbers = mask_makes_it();
  numbers.norope_full = {{0.5, 0.4}, {0.5, 0.4}};
  EXPECT_THAT(conclude_on(numbers).answer, HasSubstr("this is what stands where in the text"));
}

TEST(Answer, ANullControlThatFailsIsSaidToFail) {
  Case numbers = mask_makes_it();
  numbers.variation = {known(0.5, 0.01), known(0.001, 0.01)};
  const Analysis analysis = conclude_on(numbers);
  EXPECT_THAT(analysis.answer, HasSubstr("It is not: its deviations are"));
  EXPECT_THAT(analysis.answer, HasSubstr("1 of 2 layers exceed two standard errors"));
  EXPECT_NEAR(finding(analysis, "null_variation"), (0.5 / 4 + 0.001 / 6) / 2, 1e-12);
}

TEST(Answer, OneLayerThatIsNotConstantIsEnough) {
  Case numbers = mask_makes_it();
  numbers.variation = {known(0.05, 0.01), known(-0.1, 0.08)};  // their mean is below noise
  EXPECT_THAT(conclude_on(numbers).answer, HasSubstr("It is not: its deviations are"));
}

TEST(Answer, NoiseIsNotASignal) {
  Case numbers = mask_makes_it();
  numbers.rope_causal = {{0.01, 0.005}, {0.01, 0.002}};
  const Analysis analysis = conclude_on(numbers);
  EXPECT_THAT(analysis.answer, HasSubstr("No position signal beyond noise"));
  EXPECT_THAT(analysis.answer, Not(HasSubstr("relative:")));
}

FactorialEffects effects(const Numbers& encoding, const Numbers& mask, const Numbers& interaction) {
  const auto effect = [](const Numbers& numbers) {
    return Effect{parts(numbers), parts(numbers), {}, {}};
  };
  return {0, effect(encoding), effect(mask), effect(interaction)};
}

TEST(EffectsAnswer, SharesAreOfAllLayersTogether) {
  Analysis analysis;
  analysis.effects = {effects({4, 0}, {0, 0}, {0, 0}), effects({2, 0.5}, {1, 0.9}, {3, 2})};
  const EffectsAnswer answer = answer_on_effects(analysis);
  const auto value = [&](const std::string& name) {
    for (const auto& [known_name, estimate] : answer.findings) {
      if (known_name == name) return estimate.value;
    }
    return std::nan("");
  };
  EXPECT_NEAR(value("effect_share_encoding"), 6. / 10, 1e-12);
  EXPECT_NEAR(value("effect_share_mask"), 1. / 10, 1e-12);
  EXPECT_NEAR(value("effect_share_interaction_without_first_key"), 3. / 10, 1e-12);
  EXPECT_NEAR(value("effect_nonrelative_share_encoding"), 0.5 / 6, 1e-12);
  EXPECT_NEAR(value("effect_nonrelative_share_interaction"), 2. / 3, 1e-12);
  EXPECT_THAT(answer.text, HasSubstr("is what either does only because the other is there"));
  EXPECT_THAT(answer.text, HasSubstr("turns part of what RoPE does into something that is not"));
}

TEST(EffectsAnswer, NoiseIsSaidToBeNoise) {
  Analysis analysis;
  EXPECT_EQ(answer_on_effects(analysis).text, "");
  analysis.effects = {effects({4, 0}, {1, 0.9}, {0.001, 0.001})};
  EXPECT_THAT(answer_on_effects(analysis).text, HasSubstr("their interaction, which is noise"));
  EXPECT_THAT(answer_on_effects(analysis).text, HasSubstr("unknown (noise) of the interaction"));
  EXPECT_THAT(answer_on_effects(analysis).text, Not(HasSubstr("turns part")));
  for (const auto& [name, share] : answer_on_effects(analysis).findings) {
    EXPECT_EQ(std::isnan(share.value), name.starts_with("effect_nonrelative_share_interaction"));
  }
  analysis.effects = {effects({4, 0}, {1, 0.9}, {1, 0.001})};
  EXPECT_THAT(answer_on_effects(analysis).text,
              HasSubstr("the mask leaves what RoPE does relative"));
}

TEST(BeyondNoise, NeedsAKnownError) {
  EXPECT_TRUE(beyond_noise(known(1, 0.4)));
  EXPECT_FALSE(beyond_noise(known(1, 0.6)));
  EXPECT_FALSE(beyond_noise(known(-1, 0.1)));
  EXPECT_FALSE(beyond_noise(Estimate{1}));
}

}  // namespace
}  // namespace poslens
