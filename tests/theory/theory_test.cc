#include "poslens/theory.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "poslens/error.h"
#include "poslens/rotary.h"

namespace poslens {
namespace {

ParameterFreeSpec l2(std::int64_t n, double alpha, double residual = 1) {
  ParameterFreeSpec spec;
  spec.n = n;
  spec.alpha = alpha;
  spec.residual = residual;
  return spec;
}

// The closed form's LayerNorm case: inputs of norm sqrt(dim).
ParameterFreeSpec layernorm(std::int64_t n, double alpha, double residual, int dim = 64) {
  ParameterFreeSpec spec = l2(n, alpha, residual);
  spec.dim = dim;
  spec.norm = Norm::layernorm;
  spec.score_scale = ScoreScale::inv_sqrt_dim;
  spec.input_norm = std::sqrt(static_cast<double>(dim));
  return spec;
}

// Figure 1 of arXiv 2509.21042, to the digits that its formulas give.
TEST(ClosedForm, WorkedExampleOfFigure1) {
  const Matrix<double> scores = closed_form_layer2(l2(3, 0));
  EXPECT_NEAR(scores(1, 0), 0.15352065, 5e-9);
  EXPECT_NEAR(scores(2, 0), 0.13210319, 5e-9);
  EXPECT_NEAR(scores(2, 1), 0.15081773, 5e-9);
  EXPECT_EQ(scores(1, 1), 1);
  EXPECT_TRUE(std::isnan(scores(0, 1)));
}

// Appendix A of the paper, as printed there, with and without the residual; i counts from 1.
TEST(ClosedForm, IsThePapersFormula) {
  const double e = std::exp(1.0);
  for (const double alpha : {0.0, 0.2, 0.7}) {
    const double ea = std::exp(alpha);
    for (const bool residual : {false, true}) {
      const auto factors = [&](double i) {
        const double sum = e + (i - 1) * ea, own = 2 * e + (i - 1) * ea;
        const double g = residual ? 2 * (2 * alpha * e + ea * (1 + alpha * (2 * i - 3))) / sum
                                  : (e * alpha + ea * (1 + alpha * (i - 2))) / sum;
        const double square = residual ? own * own + 2 * own * ea * alpha * (i - 1) +
                                             std::exp(2 * alpha) * (i - 1) * (1 + (i - 2) * alpha)
                                       : e * e + 2 * std::exp(1 + alpha) * alpha * (i - 1) +
                                             std::exp(2 * alpha) * (i - 1) * (1 + alpha * (i - 2));
        return std::pair(g, std::sqrt(square) / sum);
      };
      const Matrix<double> scores = closed_form_layer2(l2(30, alpha, residual ? 1 : 0));
      for (std::size_t i = 1; i < 30; ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          const auto [g, own] = factors(static_cast<double>(i + 1));
          EXPECT_NEAR(scores(i, j), g / (own * factors(static_cast<double>(j + 1)).second), 1e-13);
        }
      }
    }
  }
}

// Values given with the formula: dim 64, alpha 0.5, query 10, keys 1, 2, 5, 9 (from 1).
TEST(ClosedForm, LayerNormValues) {
  const int keys[] = {1, 2, 5, 9};
  const double expected[2][4] = {{4.35685, 4.39585, 4.50659, 4.64076},
                                 {4.17587, 4.19461, 4.24741, 4.31076}};
  for (const bool residual : {false, true}) {
    const Matrix<double> scores = closed_form_layer2(layernorm(10, 0.5, residual ? 1 : 0));
    for (int k = 0; k < 4; ++k) {
      EXPECT_NEAR(scores(9, static_cast<std::size_t>(keys[k] - 1)), expected[residual][k], 6e-6);
    }
    EXPECT_EQ(scores(9, 9), 8);
  }
}

// The paper's statement: within a row, later keys score higher.
TEST(ClosedForm, ScoresIncreaseWithTheKey) {
  for (const double alpha : {0.0, 0.2, 0.6, 0.9}) {
    for (const bool residual : {false, true}) {
      const Matrix<double> scores = closed_form_layer2(l2(40, alpha, residual));
      for (std::size_t i = 2; i < 40; ++i) {
        for (std::size_t j = 1; j < i; ++j) EXPECT_GT(scores(i, j), scores(i, j - 1));
      }
    }
  }
}

void expect_mean_field_equals_closed_form(const ParameterFreeSpec& spec) {
  const Matrix<double> closed = closed_form_layer2(spec);
  const Matrix<double> field = mean_field_scores(spec)[1];
  double largest = 0;
  for (std::size_t i = 0; i < closed.rows(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      largest = std::max(largest, std::abs(closed(i, j) - field(i, j)));
    }
  }
  EXPECT_LE(largest, 1e-12) << "n " << spec.n << ", alpha " << spec.alpha << ", residual "
                            << spec.residual << ", norm " << to_string(spec.norm);
}

TEST(MeanField, EqualsTheClosedForms) {
  for (const std::int64_t n : {2, 3, 10, 50}) {
    for (const double alpha : {0.0, 0.1, 0.2, 0.5, 0.8, 0.99}) {
      for (const double residual : {0.0, 0.3, 1.0, 7.0}) {
        expect_mean_field_equals_closed_form(l2(n, alpha, residual));
        for (const int dim : {4, 64, 1024}) {
          expect_mean_field_equals_closed_form(layernorm(n, alpha, residual, dim));
        }
      }
    }
  }
  expect_mean_field_equals_closed_form(l2(200, 0.2));
  expect_mean_field_equals_closed_form(layernorm(200, 0.2, true));
}

TEST(MeanField, FirstLayerIsTheGramMatrixOfTheInputs) {
  ParameterFreeSpec spec = l2(6, 0.3);
  spec.rope_theta = 1e4;
  spec.dim = 8;
  spec.norm = Norm::rmsnorm;
  spec.score_scale = ScoreScale::inv_dim;
  const Matrix<double> scores = mean_field_scores(spec)[0];
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 6; ++j) {
      const auto offset = static_cast<std::int64_t>(i) - static_cast<std::int64_t>(j);
      double turned = 0;
      for (int k = 0; k < 4; ++k) {
        turned += std::cos(static_cast<double>(offset) * std::pow(1e4, -k / 4.0)) / 4;
      }
      EXPECT_NEAR(scores(i, j), (i == j ? 1 : 0.3) * turned, 1e-15);
    }
  }
}

// Without a norm the first layer's scores are the Gram matrix itself, input_norm^2 and scale in it.
TEST(MeanField, FirstLayerIsTheGramMatrixOfDependentInputs) {
  ParameterFreeSpec spec = l2(6, 0.3);
  spec.norm = Norm::none;
  spec.input_norm = 2;
  spec.token_groups = {{0.2, {0, 1, 4}}, {0.6, {2}}};
  spec.alpha_between = 0.1;
  const double groups[6][6] = {{4, .8, .4, .4, .8, .4}, {.8, 4, .4, .4, .8, .4},
                               {.4, .4, 4, .4, .4, .4}, {.4, .4, .4, 4, .4, 1.2},
                               {.8, .8, .4, .4, 4, .4}, {.4, .4, .4, 1.2, .4, 4}};
  ParameterFreeSpec chain = l2(6, 0);
  chain.markov = 0.7;
  const Matrix<double> of_groups = mean_field_scores(spec)[0];
  const Matrix<double> of_chain = mean_field_scores(chain)[0];
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 6; ++j) {
      EXPECT_DOUBLE_EQ(of_groups(i, j), groups[i][j]);
      const double distance = std::abs(static_cast<double>(i) - static_cast<double>(j));
      EXPECT_NEAR(of_chain(i, j), std::pow(0.7, distance), 1e-15);
    }
  }
}

// A group whose tokens see nothing of the others is a text of its own.
TEST(MeanField, AGroupThatIsAloneIsLikeOneAlpha) {
  ParameterFreeSpec spec = l2(12, 0);
  spec.token_groups = {{0.2, {0, 2, 4, 6, 8, 10}}, {0.6, {1, 3, 5, 7, 9, 11}}};
  spec.mask = Mask::parse("strided:2");
  const auto both = mean_field_scores(spec);
  const auto even = mean_field_scores(l2(6, 0.2)), odd = mean_field_scores(l2(6, 0.6));
  for (std::size_t layer = 0; layer < 4; ++layer) {
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        EXPECT_NEAR(both[layer](2 * i, 2 * j), even[layer](i, j), 1e-14);
        EXPECT_NEAR(both[layer](2 * i + 1, 2 * j + 1), odd[layer](i, j), 1e-14);
      }
    }
  }
}

// Every token sees the same: nothing can depend on position.
TEST(MeanField, FullMaskIsConstantOffTheDiagonal) {
  ParameterFreeSpec spec = l2(7, 0.2);
  spec.mask = Mask::parse("full");
  for (const Matrix<double>& scores : mean_field_scores(spec)) {
    for (std::size_t i = 0; i < 7; ++i) {
      for (std::size_t j = 0; j < 7; ++j) {
        EXPECT_NEAR(scores(i, j), i == j ? 1 : scores(0, 1), 1e-14);
      }
    }
  }
}

// A token that sees itself alone keeps its direction.
TEST(MeanField, WindowOfOneChangesNoScore) {
  ParameterFreeSpec spec = l2(5, 0.4);
  spec.mask = Mask::parse("window:1");
  const auto layers = mean_field_scores(spec);
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 5; ++j) EXPECT_NEAR(layers[3](i, j), layers[0](i, j), 1e-14);
  }
}

// A window as long as the text is the causal mask; a prefix of one too.
TEST(MeanField, MasksMeetAtTheirLimits) {
  const auto causal = mean_field_scores(l2(9, 0.1));
  for (const char* text : {"window:9", "prefix:1"}) {
    ParameterFreeSpec spec = l2(9, 0.1);
    spec.mask = Mask::parse(text);
    EXPECT_EQ(mean_field_scores(spec)[3].values(), causal[3].values()) << text;
  }
  ParameterFreeSpec full = l2(9, 0.1), prefix = full;
  full.mask = Mask::parse("full");
  prefix.mask = Mask::parse("prefix:9");
  EXPECT_EQ(mean_field_scores(full)[3].values(), mean_field_scores(prefix)[3].values());
}

// Every K-th token is a text of its own, and one mask a layer is used where it says.
TEST(MeanField, StridedAndPerLayerMasks) {
  const auto causal = mean_field_scores(l2(5, 0.1));
  ParameterFreeSpec spec = l2(13, 0.1);
  spec.mask = Mask::parse("strided:3");
  const auto strided = mean_field_scores(spec);
  for (std::size_t layer = 0; layer < 4; ++layer) {
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        EXPECT_NEAR(strided[layer](3 * i, 3 * j), causal[layer](i, j), 1e-14);
      }
    }
  }
  spec = l2(9, 0.1);
  ParameterFreeSpec full = spec;
  full.mask = Mask::parse("full");
  spec.layer_masks[0] = Mask::parse("full");
  // The mask of layer 0 acts on the scores of layer 1 and after.
  EXPECT_EQ(mean_field_scores(spec)[1].values(), mean_field_scores(full)[1].values());
  EXPECT_NE(mean_field_scores(spec)[2].values(), mean_field_scores(full)[2].values());
  const ScoreMap map = mean_field_map(spec);
  EXPECT_FALSE(std::isnan(map.layer(0)(1, 8)));
  EXPECT_TRUE(std::isnan(map.layer(1)(1, 8)));
  EXPECT_EQ(map.count[1 * 9 + 8], 1);
}

// Half of the coordinates do not turn; the turning ones are stretched by the attention factor.
TEST(MeanField, PartialAndScaledRotaryEncoding) {
  ParameterFreeSpec spec = l2(6, 0.3);
  spec.dim = 8;
  spec.rope_theta = 1e4;
  spec.rotary_dim = 4;
  spec.rope_scaling = RopeScaling::parse("linear:2");
  EXPECT_NEAR(mean_field_scores(spec)[0](5, 2),
              0.3 * (2 * std::cos(1.5) + 2 * std::cos(0.015) + 4) / 8, 1e-15);
  spec.rope_scaling = RopeScaling::parse("yarn:4:32768");
  const double stretch = std::pow(0.1 * std::log(4.0) + 1, 2);
  EXPECT_NEAR(mean_field_scores(spec)[0](3, 3), (4 * stretch + 4) / 8, 1e-15);
}

// ALiBi adds slope (j - i) to every layer; at slope 1000 every query sees itself alone.
TEST(MeanField, AlibiBiasesTheScores) {
  ParameterFreeSpec spec = l2(6, 0.3);
  const auto unbiased = mean_field_scores(spec);
  spec.alibi_slope = 1000;
  const auto biased = mean_field_scores(spec);
  EXPECT_NEAR(biased[0](5, 2), unbiased[0](5, 2) - 3000, 1e-12);
  EXPECT_NEAR(biased[3](5, 2), unbiased[0](5, 2) - 3000, 1e-12);
  EXPECT_NEAR(biased[3](1, 4), unbiased[0](1, 4) + 3000, 1e-12);
  EXPECT_EQ(mean_field_map(spec).stage, Stage::biased);
}

// Without a norm the first token doubles in every layer: its own score is X^2 4^layer / sqrt(dim).
TEST(MeanField, WithoutNormTheFirstTokenDoubles) {
  ParameterFreeSpec spec = l2(4, 0);
  spec.norm = Norm::none;
  spec.score_scale = ScoreScale::inv_sqrt_dim;
  spec.input_norm = 3;
  const auto layers = mean_field_scores(spec);
  for (int layer = 0; layer < 4; ++layer) {
    EXPECT_DOUBLE_EQ(layers[static_cast<std::size_t>(layer)](0, 0), 9 * std::pow(4, layer) / 8);
  }
}

// With LayerNorm and no residual the input norm cannot matter; with one it must.
TEST(MeanField, InputNormActsThroughTheResidual) {
  for (const bool residual : {false, true}) {
    ParameterFreeSpec small = layernorm(10, 0.5, residual), large = small;
    small.input_norm = 1;
    const double difference =
        std::abs(mean_field_scores(small)[1](9, 0) - mean_field_scores(large)[1](9, 0));
    if (residual) {
      EXPECT_GT(difference, 0.01);
    } else {
      EXPECT_LT(difference, 1e-12);
    }
  }
}

TEST(MeanField, LargeScoresDoNotOverflowTheSoftmax) {
  ParameterFreeSpec spec = layernorm(8, 0.5, true, 16384);
  spec.score_scale = ScoreScale::none;  // scores up to 16384
  for (const Matrix<double>& scores : mean_field_scores(spec)) {
    for (const double score : scores.values()) EXPECT_TRUE(std::isfinite(score));
  }
}

TEST(TheoryMap, OverflowIsAnError) {
  ParameterFreeSpec spec = l2(4, 0);
  spec.norm = Norm::none;
  spec.input_norm = 1e4;
  spec.layer_count = 64;  // scores up to 1e8 * 4^63, beyond 3e38
  EXPECT_THROW(mean_field_map(spec), Error);
}

TEST(TheoryMap, HidesMaskedPairsAndNamesItsLayers) {
  ParameterFreeSpec spec = l2(5, 0.2);
  spec.mask = Mask::parse("window:2");
  const ScoreMap map = mean_field_map(spec);
  EXPECT_EQ(map.source, Source::theory);
  EXPECT_EQ(map.layers, (std::vector<int>{0, 1, 2, 3}));
  const auto scores = mean_field_scores(spec);
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      const bool seen = j <= i && i - j < 2;
      EXPECT_EQ(map.count[i * 5 + j], seen);
      if (seen) {
        EXPECT_EQ(map.layer(3)(i, j), static_cast<float>(scores[3](i, j)));
      } else {
        EXPECT_TRUE(std::isnan(map.layer(3)(i, j)));
      }
    }
  }
  const ScoreMap closed = closed_form_map(l2(3, 0));
  EXPECT_EQ(closed.layers, std::vector<int>{1});
  EXPECT_NEAR(closed.layer(0)(1, 0), 0.15352065, 1e-7);
}

std::string refusal(const ParameterFreeSpec& spec) {
  try {
    closed_form_layer2(spec);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(ClosedForm, RefusesWhatItDoesNotCover) {
  ParameterFreeSpec spec = l2(3, 0);
  EXPECT_EQ(refusal(spec), "");
  spec.mask = Mask::parse("full");
  EXPECT_NE(refusal(spec).find("--mask full"), std::string::npos);
  spec = l2(3, 0);
  spec.rope_theta = 1e4;
  EXPECT_NE(refusal(spec).find("--rope"), std::string::npos);
  spec = l2(3, 0);
  spec.alibi_slope = 0.5;
  EXPECT_NE(refusal(spec).find("--alibi 0.5"), std::string::npos);
  spec = l2(3, 0);
  spec.token_groups = {{0.2, {0, 1}}};
  EXPECT_NE(refusal(spec).find("--alpha 0.2@0-1"), std::string::npos);
  spec = l2(3, 0);
  spec.markov = 0.5;
  EXPECT_NE(refusal(spec).find("--markov 0.5"), std::string::npos);
  spec = l2(3, 0);
  spec.norm = Norm::rmsnorm;
  EXPECT_NE(refusal(spec).find("--norm rmsnorm"), std::string::npos);
  spec = l2(3, 0);
  spec.input_norm = 2;
  EXPECT_NE(refusal(spec).find("--input-norm 2"), std::string::npos);
  spec = layernorm(3, 0, true);
  spec.score_scale = ScoreScale::inv_dim;
  EXPECT_NE(refusal(spec).find("--score-scale inv-dim"), std::string::npos);
}

}  // namespace
}  // namespace poslens
