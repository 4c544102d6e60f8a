#include "poslens/rotary.h"

#include <gtest/gtest.h>

#include <cmath>

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

}  // namespace
}  // namespace poslens
