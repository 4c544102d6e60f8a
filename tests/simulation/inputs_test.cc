// Inputs that depend on each other, by token group or as a Markov chain, in both engines.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "poslens/simulation.h"
#include "poslens/theory.h"
#include "poslens/threads.h"
#include "support/highway_targets.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace poslens {
namespace {

constexpr std::size_t kTokens = 11;  // two whole panels and a part of one

// Groups that share a vector with all others, or not; one token alone; tokens without a name.
ParameterFreeSpec clusters(double between) {
  ParameterFreeSpec spec;
  spec.n = kTokens;
  spec.alpha = 0.25;
  spec.alpha_between = between;
  spec.token_groups = {{0.3, {0, 1, 2, 9}}, {0.8, {3, 5, 10}}, {0.5, {6}}};
  return spec;
}

ParameterFreeSpec chain(double rho) {
  ParameterFreeSpec spec;
  spec.n = kTokens;
  spec.markov = rho;
  return spec;
}

std::vector<ParameterFreeSpec> specs() {
  return {clusters(0), clusters(0.2), clusters(0.25), chain(0.8), chain(-0.6)};
}

// E<x_i, x_j> / X^2 by the formulas of docs/simulation.md, written out for the specs above.
double correlation(const ParameterFreeSpec& spec, std::size_t i, std::size_t j) {
  if (i == j) return 1;
  if (spec.markov != 0) return std::pow(spec.markov, static_cast<double>(i > j ? i - j : j - i));
  const char groups[] = "aaabxbcxxab";  // x: no name
  if (groups[i] != groups[j]) return spec.alpha_between;
  return groups[i] == 'a' ? 0.3 : groups[i] == 'b' ? 0.8 : groups[i] == 'c' ? 0.5 : 0.25;
}

// Mean cosine of two normal vectors of correlation rho in dim dimensions (Hotelling, J. R. Stat.
// Soc. B 15, 193 (1953), for the correlation coefficient of a sample with dim degrees of freedom):
//   2/d (Gamma((d+1)/2) / Gamma(d/2))^2 rho 2F1(1/2, 1/2; d/2 + 1; rho^2).
double mean_cosine(double rho, int dim) {
  double series = 0, term = 1;
  for (int k = 0; k < 1000; ++k) {
    series += term;
    term *= (k + 0.5) * (k + 0.5) / (dim / 2.0 + 1 + k) / (k + 1) * rho * rho;
  }
  const double gammas = std::exp(std::lgamma((dim + 1) / 2.0) - std::lgamma(dim / 2.0));
  return 2.0 / dim * gammas * gammas * rho * series;
}

SimulationOptions options_of(const ParameterFreeSpec& spec, Engine engine) {
  SimulationOptions options;
  options.spec = spec;
  options.engine = engine;
  options.samples = test::kSanitized ? 2000 : 10000;
  options.seed = 1;
  options.variance = true;
  return options;
}

// First-layer scores without a norm are <x_i, x_j>. Gaussian: mean rho X^2, variance
// X^4 (1 + rho^2) / d. On the sphere the mean cosine. More shared vectors than coordinates, too.
TEST(Inputs, HaveTheMomentsOfTheirCorrelation) {
  const auto check = [](ParameterFreeSpec spec, Engine engine, Inputs inputs, int dim) {
    spec.norm = Norm::none;
    spec.layer_count = 1;
    spec.input_norm = 1.5;
    spec.inputs = inputs;
    spec.dim = dim;
    const SimulationOptions options = options_of(spec, engine);
    const ScoreMap map = simulate(options);
    const auto samples = static_cast<double>(options.samples);
    const double square = 1.5 * 1.5;
    for (std::size_t i = 0; i < kTokens; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        const double rho = correlation(spec, i, j);
        const double mean = inputs == Inputs::gaussian || i == j ? rho : mean_cosine(rho, dim);
        const double found = map.layer(0)(i, j), variance = map.variance[i * kTokens + j];
        EXPECT_NEAR(found, square * mean, 4.5 * std::sqrt(variance / samples) + 2e-6)
            << spec.alpha_text() << ", rho " << spec.markov << ", query " << i << ", key " << j;
        if (inputs == Inputs::gaussian) {
          const double expected = square * square * (1 + rho * rho) / dim;
          // Kurtosis at most 15, that of a squared normal variable; 5 standard errors.
          EXPECT_NEAR(variance, expected, 5 * expected * std::sqrt(14 / samples));
        }
      }
    }
  };
  test::for_each_target([&](std::int64_t) {
    for (const ParameterFreeSpec& spec : specs()) {
      for (const Engine engine : {Engine::triangular, Engine::dense}) {
        SCOPED_TRACE(to_string(engine));
        check(spec, engine, Inputs::gaussian, 3);
        check(spec, engine, Inputs::gaussian, 24);
        check(spec, engine, Inputs::sphere, 3);
        check(spec, engine, Inputs::sphere, 24);
      }
    }
  });
}

// LayerNorm sees no mean coordinate and the triangular engine lacks it, but it is part of an input.
TEST(Inputs, TheMeanCoordinateDependsLikeTheOthers) {
  for (ParameterFreeSpec spec : specs()) {
    for (const Inputs inputs : {Inputs::sphere, Inputs::gaussian}) {
      spec.norm = Norm::layernorm;
      spec.layer_count = 1;
      spec.inputs = inputs;
      spec.dim = 3;
      SimulationOptions options = options_of(spec, Engine::triangular);
      options.hidden_geometry = true;
      const ScoreMap map = simulate(options);
      for (std::size_t i = 0; i < kTokens; ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          const double expected = mean_cosine(correlation(spec, i, j), 3);
          const double variance = 1 - expected * expected;  // at most
          EXPECT_NEAR(map.hidden_cosine[i * kTokens + j], expected,
                      4.5 * std::sqrt(variance / static_cast<double>(options.samples)))
              << spec.alpha_text() << ", rho " << spec.markov << ", position " << i << ", other "
              << j;
        }
      }
    }
  }
}

void expect_same_distribution(const ParameterFreeSpec& spec, std::int64_t samples) {
  SimulationOptions options = options_of(spec, Engine::triangular);
  options.samples = samples;
  const ScoreMap a = simulate(options);
  options.engine = Engine::dense;
  options.seed += 1000;
  const ScoreMap b = simulate(options);
  const auto count = static_cast<double>(samples);
  for (std::size_t at = 0; at < a.scores.size(); ++at) {
    if (std::isnan(a.scores[at])) continue;
    const double variance = a.variance[at] + b.variance[at];
    EXPECT_NEAR(a.scores[at], b.scores[at], 4.5 * std::sqrt(variance / count) + 4e-6)
        << spec.alpha_text() << ", rho " << spec.markov << ", " << to_string(spec.norm)
        << ", entry " << at;
    EXPECT_NEAR(a.variance[at], b.variance[at], 20 / std::sqrt(count) * variance + 1e-8);
  }
}

TEST(Inputs, TriangularAndDenseAgreeInDistribution) {
  for (const ParameterFreeSpec& dependent : specs()) {
    for (const Norm norm : {Norm::l2, Norm::layernorm, Norm::rmsnorm}) {
      ParameterFreeSpec spec = dependent;
      spec.norm = norm;
      spec.layer_count = 3;
      spec.dim = 7;
      spec.input_norm = norm == Norm::l2 ? 1 : 3;
      if (norm != Norm::l2) spec.score_scale = ScoreScale::inv_sqrt_dim;
      expect_same_distribution(spec, test::kSanitized ? 2000 : 10000);
    }
  }
}

// The finite width changes means by about 1/d.
TEST(Inputs, TendToTheMeanFieldAsDimGrows) {
  for (const ParameterFreeSpec& dependent : specs()) {
    for (const Norm norm : {Norm::l2, Norm::layernorm}) {
      ParameterFreeSpec spec = dependent;
      spec.norm = norm;
      if (norm == Norm::layernorm) spec.score_scale = ScoreScale::inv_dim;
      spec.dim = 16384;
      SimulationOptions options = options_of(spec, Engine::triangular);
      options.samples = 4000;
      const ScoreMap map = simulate(options);
      const auto field = mean_field_scores(spec);
      for (std::size_t layer = 0; layer < field.size(); ++layer) {
        for (std::size_t i = 0; i < kTokens; ++i) {
          for (std::size_t j = 0; j <= i; ++j) {
            const double variance = map.variance[(layer * kTokens + i) * kTokens + j];
            EXPECT_NEAR(map.layer(layer)(i, j), field[layer](i, j),
                        4 * std::sqrt(variance / 4000) + 2.0 / 16384)
                << spec.alpha_text() << ", rho " << spec.markov << ", layer " << layer << ", query "
                << i << ", key " << j;
          }
        }
      }
    }
  }
}

TEST(Inputs, DenseEngineTendsToTheMeanFieldToo) {
  for (const ParameterFreeSpec& dependent : {clusters(0.2), chain(0.8)}) {
    ParameterFreeSpec spec = dependent;
    spec.rope_theta = 100;
    spec.mask = Mask::parse("full");
    spec.dim = 2048;
    SimulationOptions options = options_of(spec, Engine::dense);
    options.samples = 500;
    const ScoreMap map = simulate(options);
    const auto field = mean_field_scores(spec);
    for (std::size_t layer = 0; layer < field.size(); ++layer) {
      for (std::size_t i = 0; i < kTokens; ++i) {
        for (std::size_t j = 0; j < kTokens; ++j) {
          const double variance = map.variance[(layer * kTokens + i) * kTokens + j];
          EXPECT_NEAR(map.layer(layer)(i, j), field[layer](i, j),
                      4 * std::sqrt(variance / 500) + 4.0 / 2048)
              << "rho " << spec.markov << ", layer " << layer << ", query " << i << ", key " << j;
        }
      }
    }
  }
}

bool same_bits(const ScoreMap& a, const ScoreMap& b) {
  const auto equal = [](const std::vector<float>& x, const std::vector<float>& y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
  };
  return equal(a.scores, b.scores) && equal(a.variance, b.variance);
}

TEST(Inputs, ThreadsShardsAndResumedRunsGiveTheSameBits) {
  const TemporaryFolder folder;
  const int threads = thread_count();
  for (const ParameterFreeSpec& spec : {clusters(0.2), chain(-0.6)}) {
    for (const Engine engine : {Engine::triangular, Engine::dense}) {
      SimulationOptions options = options_of(spec, engine);
      options.samples = 2500;  // three blocks
      set_thread_count(1);
      const ScoreMap one = simulate(options);
      set_thread_count(2);
      EXPECT_TRUE(same_bits(simulate(options), one));
      const RunCheckpoint checkpoint{folder.path() / "map.partial", 0, false};
      simulate(options, checkpoint);
      EXPECT_LT(load_score_map(checkpoint.file).count[0], 2500);
      EXPECT_TRUE(same_bits(simulate(options, {checkpoint.file, 1000, true}), one));
      std::vector<NamedMap> shards;
      for (const int index : {1, 2}) {
        options.shard = Shard{index, 2};
        shards.push_back({std::to_string(index), simulate(options)});
      }
      options.shard.reset();
      EXPECT_TRUE(same_bits(merge_shards(options, shards), one));
    }
  }
  set_thread_count(threads);
}

}  // namespace
}  // namespace poslens
