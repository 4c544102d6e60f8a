#include "poslens/mean_field_distance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "metrics/support.h"
#include "poslens/error.h"
#include "poslens/theory.h"

namespace poslens {
namespace {

ParameterFreeSpec spec_of(double alpha, std::int64_t n = 40) {
  ParameterFreeSpec spec;
  spec.n = n;
  spec.layer_count = 3;
  spec.alpha = alpha;
  return spec;
}

// Maps of the mean field itself, between and on the alphas that are tried, times a scale and with
// functions of the row: nothing is unexplained, and alpha is found.
TEST(MeanFieldDistance, FindsTheMeanField) {
  for (const double alpha : {0.0, 0.3, 0.45, 0.77}) {
    ScoreMap map = mean_field_map(spec_of(alpha));
    map.source = Source::model;
    for (std::size_t k = 0; k < map.scores.size(); ++k) {
      map.scores[k] = 25 * map.scores[k] + static_cast<float>(std::sin(k / 40));
    }
    const auto distances = mean_field_distances(map);
    for (const std::size_t layer : {1U, 2U}) {
      for (const auto* found : {&distances[layer].all_keys, &distances[layer].without_first_key}) {
        EXPECT_NEAR(found->unexplained_share.value, 0, 2e-4) << alpha << ' ' << layer;
        EXPECT_NEAR(found->alpha.value, alpha, 0.02) << alpha << ' ' << layer;
        EXPECT_TRUE(std::isnan(found->alpha.standard_error));
      }
    }
    // No alpha gives the first layer a shape.
    EXPECT_TRUE(std::isnan(distances[0].all_keys.alpha.value));
  }
}

// With alpha 0 the third layer's rows no longer rise throughout, as the second's do with any alpha.
TEST(MeanFieldDistance, IsThatOfTheLayer) {
  ScoreMap map = mean_field_map(spec_of(0));
  const std::size_t size = map.scores.size() / 3;
  std::copy_n(map.scores.begin() + static_cast<std::ptrdiff_t>(2 * size), size,
              map.scores.begin() + static_cast<std::ptrdiff_t>(size));
  EXPECT_GT(mean_field_distances(map)[1].all_keys.unexplained_share.value, 5e-3);
}

// A map that runs against the prediction is not explained by it.
TEST(MeanFieldDistance, TakesNoNegativeScale) {
  ScoreMap map = mean_field_map(spec_of(0));
  for (float& score : map.scores) score = -score;
  const MeanFieldDistance found = mean_field_distances(map)[1].all_keys;
  EXPECT_EQ(found.unexplained_share.value, 1);
  EXPECT_TRUE(std::isnan(found.alpha.value));
}

// The prediction plus, in row 3, what is orthogonal to it and to the row's mean: that is left.
TEST(MeanFieldDistance, IsPythagoras) {
  const ScoreMap exact = mean_field_map(spec_of(0.5, 6));
  const MatrixView<const float> shape = exact.layer(1);
  ScoreMap map = exact;
  float* scores = map.scores.data() + 36;
  const double step_a = static_cast<double>(shape(3, 1)) - static_cast<double>(shape(3, 0));
  const double step_b = static_cast<double>(shape(3, 2)) - static_cast<double>(shape(3, 1));
  // u sums to 0 and <u, shape> = u0 x0 + u1 x1 + u2 x2 = 0: u = (step_b, -(step_a + step_b),
  // step_a).
  const double u[] = {step_b, -(step_a + step_b), step_a};
  double squares = 0;
  for (int j = 0; j < 3; ++j) {
    scores[3 * 6 + j] += static_cast<float>(u[j]);
    squares += u[j] * u[j];
  }
  const MeanFieldDistance found = mean_field_distances(map)[1].all_keys;
  EXPECT_LE(found.unexplained.value, squares / 15 * (1 + 1e-4));
  EXPECT_GT(found.unexplained.value, squares / 15 * 0.5);  // another alpha may take some of it
}

TEST(MeanFieldDistance, NoiseIsNotCounted) {
  RandomStream random(41, 0);
  const ScoreMap exact = mean_field_map(spec_of(0.4));
  ScoreMap map = exact;
  map.groups = 8;
  map.scores_groups.reserve(8 * map.scores.size());
  for (int group = 0; group < 8; ++group) {
    for (const float score : exact.scores) {
      map.scores_groups.push_back(score + 0.01F * static_cast<float>(random.normal()));
    }
  }
  const MeanFieldDistance found = mean_field_distances(map)[2].all_keys;
  EXPECT_GT(found.unexplained_share.standard_error, 0);
  EXPECT_NEAR(found.unexplained_share.value, 0, 4 * found.unexplained_share.standard_error);
  EXPECT_NEAR(found.alpha.value, 0.4, 4 * found.alpha.standard_error);
  EXPECT_LT(found.unexplained_share.standard_error, 0.2);
}

TEST(MeanFieldDistance, ModelOfARunIsItsOwn) {
  ParameterFreeSpec spec = spec_of(0.5, 24);
  spec.norm = Norm::layernorm;
  spec.score_scale = ScoreScale::inv_sqrt_dim;
  spec.dim = 16;
  spec.residual = 0;
  ScoreMap map = mean_field_map(spec);
  EXPECT_NEAR(mean_field_distances(map)[2].all_keys.unexplained_share.value, 0, 2e-4);
  map.source = Source::model;
  EXPECT_GT(mean_field_distances(map)[2].all_keys.unexplained_share.value, 1e-3);
  map.pool = 2;
  map.pooled_positions = 48;
  EXPECT_TRUE(std::isnan(mean_field_distances(map)[2].all_keys.unexplained_share.value));
}

TEST(MeanFieldDistance, EveryEncodingOfARun) {
  ParameterFreeSpec partial = spec_of(0.5, 20);
  partial.dim = 15;
  partial.rope_theta = 100;
  partial.rotary_dim = 6;
  ParameterFreeSpec alibi = spec_of(0.5, 20);
  alibi.alibi_slope = 0.25;
  for (const ParameterFreeSpec& spec : {partial, alibi}) {
    const ScoreMap map = mean_field_map(spec);
    EXPECT_NEAR(mean_field_distances(map)[2].all_keys.unexplained_share.value, 0, 2e-4);
  }
}

TEST(MeanFieldDistance, DamagedOptionsAreRefused) {
  for (const char* option : {"norm", "dim", "residual-weight", "rope"}) {
    for (const char* value : {"", "x", "-7"}) {
      ScoreMap map = mean_field_map(spec_of(0.5, 10));
      for (auto& [name, text] : map.provenance.options) {
        if (name == option) text = value;
      }
      EXPECT_THROW(mean_field_distances(map), Error) << option << ' ' << value;
    }
  }
}

TEST(MeanFieldDistance, FullMasksHaveNoPrediction) {
  ParameterFreeSpec spec = spec_of(0.5, 20);
  spec.mask = Mask::parse("full");
  ScoreMap map = mean_field_map(spec);
  for (std::size_t k = 0; k < map.scores.size(); ++k) map.scores[k] += static_cast<float>(k % 7);
  const MeanFieldDistance found = mean_field_distances(map)[1].all_keys;
  EXPECT_EQ(found.unexplained_share.value, 1);
  EXPECT_TRUE(std::isnan(found.alpha.value));
}

}  // namespace
}  // namespace poslens
