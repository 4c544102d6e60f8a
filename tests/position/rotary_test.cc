#include "poslens/rotary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "poslens/error.h"

namespace poslens {
namespace {

TEST(Rotary, InverseFrequenciesFollowTheFormula) {
  const std::vector<double> inverse = inverse_frequencies({.theta = 1e4, .rotary_dim = 8});
  ASSERT_EQ(inverse.size(), 4u);
  EXPECT_DOUBLE_EQ(inverse[0], 1);
  EXPECT_DOUBLE_EQ(inverse[1], 1e-1);
  EXPECT_DOUBLE_EQ(inverse[3], 1e-3);
}

// Llama 3's first unscaled frequencies, as computed by transformers: theta 5e5, dim 128.
TEST(Rotary, MatchesTransformersForLlama3) {
  const std::vector<double> inverse = inverse_frequencies({.theta = 5e5, .rotary_dim = 128});
  EXPECT_NEAR(inverse[28], 0.003211445995, 1e-11);
}

TEST(Rotary, FactorsDivideTheFrequencies) {
  const std::vector<double> inverse =
      inverse_frequencies({.theta = 1e4, .rotary_dim = 4, .linear_factor = 4, .divisors = {1, 8}});
  EXPECT_DOUBLE_EQ(inverse[0], 1.0 / 4);
  EXPECT_DOUBLE_EQ(inverse[1], 1e-2 / 32);
}

TEST(Rotary, TableTurnsByPosition) {
  const RotarySpec spec{.theta = 1e4, .rotary_dim = 4, .attention_factor = 1.5};
  const RotaryTable table = rotary_table(spec, 1000, 3);
  EXPECT_NEAR(table.cosine(2, 0), 1.5 * std::cos(1002.0), 1e-6);
  EXPECT_NEAR(table.sine(2, 1), 1.5 * std::sin(10.02), 1e-5);
}

TEST(Rotary, MeanFactor) {
  const RotarySpec spec{.theta = 1e4, .rotary_dim = 4};
  EXPECT_DOUBLE_EQ(rotary_mean_factor(spec, 4, 0), 1);
  EXPECT_DOUBLE_EQ(rotary_mean_factor(spec, 4, 3), (std::cos(3.0) + std::cos(0.03)) / 2);
  EXPECT_DOUBLE_EQ(rotary_mean_factor(spec, 8, 3), (2 * (std::cos(3.0) + std::cos(0.03)) + 4) / 8);
}

RotarySpec scaled_by(const char* scaling, RotarySpec spec, std::int64_t length = 1) {
  return scaled(std::move(spec), RopeScaling::parse(scaling), length);
}

// As computed by transformers: theta 5e5, dim 128.
TEST(RopeScaling, Llama3MatchesTransformers) {
  const std::vector<double> inverse =
      inverse_frequencies(scaled_by("llama3:8:8192", {.theta = 5e5, .rotary_dim = 128}));
  const std::pair<std::size_t, double> expected[] = {{28, 0.003211445995},
                                                     {29, 0.002166570764},
                                                     {34, 1.785078128e-4},
                                                     {35, 9.556212354e-5},
                                                     {63, 3.068925989e-7}};
  for (const auto& [k, value] : expected) EXPECT_NEAR(inverse[k], value, 2e-7 * value) << k;
}

// As computed by transformers: theta 1e6, dim 128, low 23, high 40.
TEST(RopeScaling, YarnMatchesTransformers) {
  const RotarySpec unscaled{.theta = 1e6, .rotary_dim = 128};
  const RotarySpec spec = scaled_by("yarn:4:32768", unscaled);
  EXPECT_NEAR(spec.attention_factor, 1.138629436, 1e-9);
  const std::vector<double> inverse = inverse_frequencies(spec);
  const std::vector<double> before = inverse_frequencies(unscaled);
  EXPECT_NEAR(inverse[24], 0.00537532149, 2e-7 * 0.00537532149);
  for (std::size_t k = 0; k <= 23; ++k) EXPECT_DOUBLE_EQ(inverse[k], before[k]);
  for (std::size_t k = 40; k < 64; ++k) EXPECT_DOUBLE_EQ(inverse[k], before[k] / 4);
}

// As computed by transformers: pairs that are not rounded, betas 3 and 0.5, both mscales.
TEST(RopeScaling, YarnWithItsOtherKeysMatchesTransformers) {
  RopeScaling scaling = RopeScaling::parse("yarn:4:64");
  scaling.truncate = false;
  scaling.beta_fast = 3;
  scaling.beta_slow = 0.5;
  scaling.attention_factor = yarn_attention_factor(4, 0.7) / yarn_attention_factor(4, 0.3);
  const RotarySpec spec = scaled({.theta = 100, .rotary_dim = 64}, scaling, 1);
  EXPECT_NEAR(spec.attention_factor, 1.0532376815143234, 1e-12);
  const std::vector<double> inverse = inverse_frequencies(spec);
  const std::pair<std::size_t, double> expected[] = {
      {0, 1.0},           {8, 0.316227764},    {12, 0.140271753},  {16, 0.0547850281},
      {20, 0.0172579475}, {24, 0.00790569466}, {31, 0.00288695493}};
  for (const auto& [k, value] : expected) EXPECT_NEAR(inverse[k], value, 3e-7 * value) << k;
}

// As computed by transformers: theta 1e4, dim 8, 128 positions where 16 were trained.
TEST(RopeScaling, LongropeMatchesTransformers) {
  RopeScaling scaling{.kind = RopeScaling::Kind::longrope, .factor = 8, .original = 16};
  scaling.short_factors = {1.0f, 1.1f, 1.3f, 2.0f};
  scaling.long_factors = {1.2f, 2.5f, 4.0f, 12.0f};
  const RotarySpec unscaled{.theta = 1e4, .rotary_dim = 8};
  const double expected[2][4] = {{1.0, 0.0909090936, 0.0076923077, 0.000500000024},
                                 {0.833333313, 0.0399999991, 0.00249999994, 8.33333324e-05}};
  for (const std::int64_t length : {16, 17}) {
    const RotarySpec spec = scaled(unscaled, scaling, length);
    EXPECT_NEAR(spec.attention_factor, 1.3228756555322954, 1e-12);
    const std::vector<double> inverse = inverse_frequencies(spec);
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_NEAR(inverse[k], expected[length - 16][k], 2e-7 * inverse[k]) << k;
    }
  }
  scaling.attention_factor = 1.5;
  EXPECT_EQ(scaled(unscaled, scaling, 1).attention_factor, 1.5);
}

// NTK-aware scaling stretches the slowest pair by the factor and leaves the fastest.
TEST(RopeScaling, LinearAndNtk) {
  const RotarySpec unscaled{.theta = 1e4, .rotary_dim = 64};
  const std::vector<double> before = inverse_frequencies(unscaled);
  const std::vector<double> linear = inverse_frequencies(scaled_by("linear:4", unscaled));
  const std::vector<double> ntk = inverse_frequencies(scaled_by("ntk:4", unscaled));
  for (std::size_t k = 0; k < 32; ++k) EXPECT_DOUBLE_EQ(linear[k], before[k] / 4);
  EXPECT_DOUBLE_EQ(ntk[0], 1);
  EXPECT_NEAR(ntk[31], before[31] / 4, 1e-12);
  // Within the original length nothing changes; at twice the length the factor is 4 * 2 - 3.
  EXPECT_DOUBLE_EQ(scaled_by("dynamic:4:100", unscaled, 100).theta, 1e4);
  EXPECT_NEAR(inverse_frequencies(scaled_by("dynamic:4:100", unscaled, 200))[31], before[31] / 5,
              1e-12);
}

TEST(RopeScaling, TextRoundTripsAndBadTextIsRefused) {
  for (const char* text :
       {"none", "linear:4", "ntk:2.5", "dynamic:2:4096", "llama3:8:8192", "yarn:4:32768"}) {
    EXPECT_EQ(RopeScaling::parse(text).text(), text);
  }
  for (const char* text : {"", "linear", "linear:", "linear:0.5", "linear:4:2", "llama3:8",
                           "yarn:4:x", "yarn:nan:4", "su:4", "ntk:2 ", "longrope:2:4"}) {
    EXPECT_THROW(RopeScaling::parse(text), UsageError) << text;
  }
}

}  // namespace
}  // namespace poslens
