// Observables beside means of scores, against closed forms and across engines.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "poslens/error.h"
#include "poslens/matrix.h"
#include "poslens/simulation.h"
#include "simulation/block.h"
#include "support/sanitized.h"

namespace poslens {
namespace {

// Given a query's input, its scores of m keys are exchangeable in the first layer, so that they are
// in ascending order in 1/m! of the samples; a bias of ALiBi that exceeds all scores puts them
// there always.
TEST(Monotonicity, OfTheFirstLayerHasAClosedForm) {
  constexpr std::int64_t kTokens = 7;
  struct Case {
    std::string mask;
    double theta;
    double alpha;
  };
  for (const Case& c : {Case{"causal", 0, 0}, Case{"window:4", 0, 0.5}, Case{"causal", 10, 0},
                        Case{"full", 0, 0.3}, Case{"strided:2", 0, 0}}) {
    SimulationOptions options;
    options.spec.n = kTokens;
    options.spec.dim = 8;
    options.spec.layer_count = 1;
    options.spec.alpha = c.alpha;
    options.spec.mask = Mask::parse(c.mask);
    if (c.theta > 0) options.spec.rope_theta = c.theta;
    options.samples = 20000;
    options.monotonicity = true;
    double sum = 0, rows = 0;
    for (std::int64_t i = 0; i < kTokens; ++i) {
      int keys = 0;
      for (std::int64_t j = 0; j < i; ++j) keys += options.spec.mask.visible(i, j) ? 1 : 0;
      if (keys < 2) continue;
      sum += 1 / std::tgamma(keys + 1.0);
      ++rows;
    }
    const double share = sum / rows;
    // The rows of a sample are correlated at most fully.
    const double error = std::sqrt(share * (1 - share) / static_cast<double>(options.samples));
    const ScoreMap map = simulate(options);
    ASSERT_EQ(map.monotonicity.size(), 1u);
    EXPECT_NEAR(map.monotonicity[0], share, 4 * error) << c.mask;

    options.spec.alibi_slope = 2.5;
    options.samples = 100;
    EXPECT_EQ(simulate(options).monotonicity[0], 1) << c.mask;
  }
}

// Equal tokens have equal scores.
TEST(Monotonicity, IsStrict) {
  SimulationOptions options;
  options.spec.n = 6;
  options.spec.dim = 8;
  options.spec.layer_count = 1;  // later ones round
  options.engine = Engine::dense;
  options.monotonicity = true;
  const Plan plan(options);
  const std::vector<float> inputs(6 * 8, 1);
  BlockRunner runner(plan);
  EXPECT_EQ(runner.run({0, 1, 1, inputs.data()}).monotone, std::vector<std::int64_t>(1, 0));
}

SimulationOptions geometry(std::int64_t n, int dim) {
  SimulationOptions options;
  options.spec.n = n;
  options.spec.dim = dim;
  options.spec.layer_count = 3;
  options.samples = 500;
  options.hidden_geometry = true;
  return options;
}

// With the L2 norm and without rotary encoding, a layer's scores are the cosines of its input;
// those of its last output are the scores that one more layer has.
TEST(HiddenGeometry, CosinesAreScoresOfTheL2Norm) {
  for (const Engine engine : {Engine::triangular, Engine::dense}) {
    for (const char* mask : {"causal", "window:3", "full"}) {
      SimulationOptions options = geometry(11, 16);
      options.spec.alpha = 0.2;
      options.spec.mask = Mask::parse(mask);
      options.engine = engine;
      if (engine == Engine::triangular && !options.spec.is_causal()) continue;
      const ScoreMap map = simulate(options);
      ASSERT_EQ(map.hidden_norm.size(), 4u * 11);
      ASSERT_EQ(map.hidden_cosine.size(), 4u * 11 * 11);
      options.spec.layer_count = 4;
      const ScoreMap deeper = simulate(options);
      for (std::size_t at = 0; at < map.hidden_cosine.size(); ++at) {
        if (std::isnan(deeper.scores[at])) continue;
        ASSERT_NEAR(map.hidden_cosine[at], deeper.scores[at], 1e-6) << mask << ' ' << at;
      }
      for (std::size_t layer = 0; layer < 4; ++layer) {
        for (std::size_t i = 0; i < 11; ++i) {
          for (std::size_t j = 0; j < 11; ++j) {
            EXPECT_EQ(map.hidden_cosine[(layer * 11 + i) * 11 + j],
                      map.hidden_cosine[(layer * 11 + j) * 11 + i]);
          }
        }
      }
    }
  }
}

// LayerNorm's engines drop the mean of x, which is part of its norm.
TEST(HiddenGeometry, InputsOnTheSphereHaveTheirNorm) {
  for (const Engine engine : {Engine::triangular, Engine::dense}) {
    for (const Norm norm : {Norm::l2, Norm::layernorm, Norm::rmsnorm, Norm::none}) {
      SimulationOptions options = geometry(9, 4);
      options.spec.norm = norm;
      options.spec.alpha = 0.4;
      options.spec.input_norm = 3;
      options.engine = engine;
      const ScoreMap map = simulate(options);
      for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(map.hidden_norm[i], 3, 3e-6);
    }
  }
}

// Averages of the first i + 1 of orthonormal vectors: |y_i|^2 = 1 / (i + 1), cos(y_i, y_j) =
// sqrt((j + 1) / (i + 1)), j <= i. Scores close to zero make attention uniform.
TEST(HiddenGeometry, OfUniformCausalAveragingHasAClosedForm) {
  SimulationOptions options = geometry(12, 16384);
  options.spec.layer_count = 1;
  options.spec.norm = Norm::none;
  options.spec.residual = 0;
  options.spec.input_norm = 1e-3;
  const ScoreMap map = simulate(options);
  for (std::size_t i = 0; i < 12; ++i) {
    const auto rows = static_cast<double>(i + 1);
    EXPECT_NEAR(map.hidden_norm[12 + i], 1e-3 / std::sqrt(rows), 2e-6);
    for (std::size_t j = 0; j <= i; ++j) {
      EXPECT_NEAR(map.hidden_cosine[(12 + i) * 12 + j],
                  std::sqrt(static_cast<double>(j + 1) / rows), 2e-3);
      EXPECT_NEAR(map.hidden_cosine[i * 12 + j], i == j, 2e-3);
    }
  }
}

// The mean field's Gram matrices for a causal mask: G <- M G M^T with M = A diag(hs / s) + r I, s_i
// = sqrt(G_ii).
std::vector<Matrix<double>> gram_matrices(const ParameterFreeSpec& spec) {
  const auto n = static_cast<std::size_t>(spec.n);
  Matrix<double> gram(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      gram(i, j) = spec.input_norm * spec.input_norm * (i == j ? 1 : spec.alpha);
    }
  }
  const double output = spec.norm == Norm::l2 ? 1 : std::sqrt(spec.dim);
  std::vector<Matrix<double>> all = {gram};
  for (int layer = 0; layer < spec.layer_count; ++layer) {
    Matrix<double> mix(n, n), half(n, n), next(n, n);
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j <= i; ++j) {
        const double cosine = gram(i, j) / std::sqrt(gram(i, i) * gram(j, j));
        sum += mix(i, j) = std::exp(spec.scale() * output * output * cosine);
      }
      for (std::size_t j = 0; j <= i; ++j) mix(i, j) *= output / std::sqrt(gram(j, j)) / sum;
      mix(i, i) += spec.residual;
    }
    const auto multiply = [&](const Matrix<double>& a, const auto& b, Matrix<double>& product) {
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          for (std::size_t k = 0; k < n; ++k) product(i, j) += a(i, k) * b(k, j);
        }
      }
    };
    multiply(mix, gram, half);
    multiply(
        half, [&](std::size_t k, std::size_t j) { return mix(j, k); }, next);
    gram = next;
    all.push_back(gram);
  }
  return all;
}

TEST(HiddenGeometry, TendsToTheMeanFieldAsDimGrows) {
  for (const Norm norm : {Norm::l2, Norm::layernorm, Norm::rmsnorm}) {
    for (const double residual : {0.0, 0.5, 1.0}) {
      SimulationOptions options = geometry(10, 16384);
      options.spec.norm = norm;
      options.spec.residual = residual;
      options.spec.alpha = 0.3;
      options.spec.input_norm = norm == Norm::l2 ? 1.5 : 200;
      if (norm != Norm::l2) options.spec.score_scale = ScoreScale::inv_dim;
      const ScoreMap map = simulate(options);
      const std::vector<Matrix<double>> gram = gram_matrices(options.spec);
      const Plan plan(options);
      for (std::size_t layer = 0; layer < gram.size(); ++layer) {
        for (std::size_t i = 0; i < 10; ++i) {
          const double length = std::sqrt(gram[layer](i, i));
          EXPECT_NEAR(map.hidden_norm[layer * 10 + i], length, 1e-3 * length);
          EXPECT_LE(length, plan.norm_bound(layer) * (1 + 1e-12));
          for (std::size_t j = 0; j < 10; ++j) {
            EXPECT_NEAR(map.hidden_cosine[(layer * 10 + i) * 10 + j],
                        gram[layer](i, j) / length / std::sqrt(gram[layer](j, j)), 1e-3)
                << to_string(norm) << ", layer " << layer << ", " << i << ", " << j;
          }
        }
      }
    }
  }
}

// Few dimensions, so that the mean coordinate, which the engines come to in their own ways, is a
// third of it all.
TEST(HiddenGeometry, EnginesAgreeInDistribution) {
  for (const Inputs inputs : {Inputs::sphere, Inputs::gaussian}) {
    for (const double alpha : {0.0, 0.6}) {
      SimulationOptions options = geometry(7, 3);
      options.spec.norm = Norm::layernorm;
      options.spec.score_scale = ScoreScale::inv_sqrt_dim;
      options.spec.inputs = inputs;
      options.spec.input_norm = 2;
      options.spec.alpha = alpha;
      options.spec.residual = 0.8;
      options.samples = test::kSanitized ? 5000 : 100000;
      options.engine = Engine::triangular;
      const ScoreMap a = simulate(options);
      options.engine = Engine::dense;
      options.seed = 9;
      const ScoreMap b = simulate(options);
      // Cosines and norms have standard deviations of at most 1 here.
      const double error = 4.5 * std::sqrt(2 / static_cast<double>(options.samples));
      for (std::size_t at = 0; at < a.hidden_norm.size(); ++at) {
        EXPECT_NEAR(a.hidden_norm[at], b.hidden_norm[at], error) << "norm " << at;
      }
      for (std::size_t at = 0; at < a.hidden_cosine.size(); ++at) {
        EXPECT_NEAR(a.hidden_cosine[at], b.hidden_cosine[at], error) << "cosine " << at;
      }
    }
  }
}

TEST(HiddenGeometry, OverflowOfTheLastOutputIsOneClearError) {
  SimulationOptions options = geometry(5, 4);
  options.spec.layer_count = 5;  // norms of 1e6, 1e9, ... and 1e21, whose square is too large
  options.spec.residual = 1000;
  options.spec.input_norm = 1e6;
  options.hidden_geometry = false;
  EXPECT_NO_THROW(simulate(options));
  options.hidden_geometry = true;
  try {
    simulate(options);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("residual stream grows beyond 32-bit floats"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace poslens
