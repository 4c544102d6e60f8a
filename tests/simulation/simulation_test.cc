#include "poslens/simulation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "poslens/error.h"
#include "poslens/theory.h"
#include "poslens/threads.h"
#include "simulation/refusal.h"
#include "support/sanitized.h"

namespace poslens {
namespace {

SimulationOptions small() {
  SimulationOptions options;
  options.spec.n = 12;
  options.samples = 2000;
  options.seed = 3;
  return options;
}

SimulationOptions layernorm() {
  SimulationOptions options = small();
  options.spec.norm = Norm::layernorm;
  options.spec.score_scale = ScoreScale::inv_sqrt_dim;
  return options;
}

template <typename Body>
void for_pairs(const ParameterFreeSpec& spec, const Body& body) {
  for (std::int64_t i = 0; i < spec.n; ++i) {
    const KeyRange keys = spec.mask.keys(i, spec.n);
    for (std::int64_t j = keys.first; j < keys.last; ++j) {
      body(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
    }
  }
}

// The largest deviation from the mean field over all layers, and over the first.
double deviation(const SimulationOptions& options) {
  const ScoreMap map = simulate(options);
  const auto field = mean_field_scores(options.spec);
  double largest = 0;
  for (std::size_t layer = 0; layer < field.size(); ++layer) {
    for_pairs(options.spec, [&](std::size_t i, std::size_t j) {
      largest = std::max(largest, std::abs(map.layer(layer)(i, j) - field[layer](i, j)));
    });
  }
  return largest;
}

// Scores relative to their range, so that one tolerance does for all.
TEST(Simulation, TendsToTheMeanFieldAsDimGrows) {
  std::vector<SimulationOptions> cases(7, small());
  cases[1].spec.alpha = 0.4;
  cases[2].spec.residual = false;
  cases[2].spec.alpha = 0.2;
  cases[3].spec.mask = Mask::parse("window:4");
  cases[4].spec.inputs = Inputs::gaussian;
  cases[4].spec.norm = Norm::none;
  cases[4].spec.layer_count = 2;
  cases[5].spec.norm = Norm::layernorm;
  cases[5].spec.score_scale = ScoreScale::inv_dim;
  cases[5].spec.alpha = 0.2;
  cases[6].spec.norm = Norm::rmsnorm;
  cases[6].spec.score_scale = ScoreScale::inv_dim;
  cases[6].spec.input_norm = 5;
  for (SimulationOptions& options : cases) {
    options.samples = 4000;
    options.spec.dim = 32;
    const double narrow = deviation(options);
    options.spec.dim = 16384;
    const double wide = deviation(options);
    EXPECT_LT(wide, 0.002) << "case " << &options - cases.data();
    EXPECT_LT(wide, 0.25 * narrow) << "case " << &options - cases.data();
  }
}

TEST(Simulation, DenseEngineTendsToTheMeanFieldAsDimGrows) {
  std::vector<SimulationOptions> cases(3, small());
  cases[0].spec.rope_theta = 1e4;
  cases[0].spec.alpha = 0.2;
  cases[1].spec.mask = Mask::parse("full");
  cases[2].spec.mask = Mask::parse("prefix:4");
  cases[2].spec.rope_theta = 100;
  for (SimulationOptions& options : cases) {
    options.samples = 400;
    options.spec.dim = 16;
    const double narrow = deviation(options);
    options.spec.dim = 1024;
    const double wide = deviation(options);
    EXPECT_LT(wide, 0.01) << "case " << &options - cases.data();
    EXPECT_LT(wide, 0.3 * narrow) << "case " << &options - cases.data();
  }
}

// With input_norm sqrt(dim) LayerNorm has its closed form, to which dim 64 comes within 1 %.
TEST(Simulation, LayerNormComesCloseToTheClosedForm) {
  for (const bool residual : {false, true}) {
    SimulationOptions options = layernorm();
    options.samples = 20000;
    options.spec.alpha = 0.5;
    options.spec.input_norm = 8;
    options.spec.residual = residual;
    const Matrix<double> closed = closed_form_layer2(options.spec);
    const ScoreMap map = simulate(options);
    for (std::size_t j = 0; j < 9; ++j) {
      EXPECT_NEAR(map.layer(1)(9, j), closed(9, j), 0.01 * closed(9, j));
    }
  }
}

// First-layer scores of unit vectors without correlation: mean 0, variance 1/dim; the diagonal
// is 1.
TEST(Simulation, FirstLayerHasTheMomentsOfRandomDirections) {
  for (const bool rope : {false, true}) {
    SimulationOptions options = small();
    options.samples = 20000;
    options.spec.dim = 16;
    options.variance = true;
    if (rope) options.spec.rope_theta = 100;
    const ScoreMap map = simulate(options);
    const auto count = static_cast<double>(options.samples);
    for_pairs(options.spec, [&](std::size_t i, std::size_t j) {
      const double mean = map.scores[i * 12 + j], variance = map.variance[i * 12 + j];
      EXPECT_NEAR(mean, i == j, 4 * std::sqrt(variance / count) + 1e-6);
      // A Beta-like variable of kurtosis 3 d / (d + 2).
      EXPECT_NEAR(variance, i == j ? 0 : 1.0 / 16,
                  i == j ? 1e-9 : 4.5 / 16 * std::sqrt(1.7 / count));
    });
  }
}

// Without norm and scale, first-layer scores are the inputs' inner products.
TEST(Simulation, InputsHaveTheirNormAndCorrelation) {
  for (const Inputs inputs : {Inputs::sphere, Inputs::gaussian}) {
    for (const Engine engine : {Engine::triangular, Engine::dense}) {
      SimulationOptions options = small();
      options.spec.norm = Norm::none;
      options.spec.layer_count = 1;
      options.spec.inputs = inputs;
      options.spec.dim = 400;
      options.spec.input_norm = 3;
      options.spec.alpha = 0.3;
      options.engine = engine;
      options.variance = true;
      const ScoreMap map = simulate(options);
      const auto count = static_cast<double>(options.samples);
      for_pairs(options.spec, [&](std::size_t i, std::size_t j) {
        const double error = std::sqrt(map.variance[i * 12 + j] / count);
        const double bias = inputs == Inputs::sphere && i != j ? 9 * 0.3 / 400 : 1e-5;
        EXPECT_NEAR(map.scores[i * 12 + j], i == j ? 9 : 9 * 0.3, 4.5 * error + bias);
      });
      // |x|^2 of a Gaussian vector given the shared one: variance 2 X^4 / dim.
      if (inputs == Inputs::gaussian) {
        EXPECT_NEAR(map.variance[0], 2 * 81.0 / 400, 0.1 * 2 * 81 / 400);
      } else {
        EXPECT_NEAR(map.variance[0], 0, 1e-8);
      }
    }
  }
}

void expect_same_distribution(const SimulationOptions& given) {
  SimulationOptions options = given;
  options.samples = test::kSanitized ? 4000 : 20000;
  options.variance = options.probs = true;
  options.recency = options.spec.mask.kind == Mask::Kind::causal;
  options.engine = Engine::triangular;
  const ScoreMap a = simulate(options);
  options.engine = Engine::dense;
  options.seed += 1000;
  const ScoreMap b = simulate(options);
  EXPECT_EQ(a.provenance.engine, "triangular");
  EXPECT_EQ(b.provenance.engine, "dense");
  const auto count = static_cast<double>(options.samples);
  const auto n = static_cast<std::size_t>(options.spec.n);
  double squares = 0, entries = 0;
  for (std::size_t layer = 0; layer < a.layers.size(); ++layer) {
    for_pairs(options.spec, [&](std::size_t i, std::size_t j) {
      const std::size_t at = (layer * n + i) * n + j;
      const double va = a.variance[at], vb = b.variance[at];
      const double error = std::sqrt((va + vb) / count);
      EXPECT_NEAR(a.scores[at], b.scores[at], 4.5 * error + 2e-6 * std::abs(b.scores[at]));
      EXPECT_NEAR(va, vb, 20 / std::sqrt(count) * (va + vb) + 1e-8);
      EXPECT_NEAR(a.probs[at], b.probs[at], 0.7 / std::sqrt(count));
      if (error > 1e-6) {
        squares += std::pow((a.scores[at] - b.scores[at]) / error, 2);
        ++entries;
      }
    });
    if (options.recency) {
      EXPECT_NEAR(a.recency[layer], b.recency[layer], 0.85 / std::sqrt(count));
    }
  }
  // Through the shared vector all entries move together: 3 standard errors of one number.
  EXPECT_LT(squares / entries, 9);
}

TEST(Simulation, TriangularAndDenseAgreeInDistribution) {
  for (const double alpha : {0.0, 0.5}) {
    for (const Inputs inputs : {Inputs::sphere, Inputs::gaussian}) {
      for (const Norm norm : {Norm::l2, Norm::layernorm, Norm::rmsnorm, Norm::none}) {
        SimulationOptions options = small();
        options.spec.n = 10;
        options.spec.dim = norm == Norm::l2 ? 6 : 14;  // fewer dimensions than tokens, too
        options.spec.alpha = alpha;
        options.spec.inputs = inputs;
        options.spec.norm = norm;
        options.spec.layer_count = 3;
        if (norm != Norm::l2) options.spec.score_scale = ScoreScale::inv_sqrt_dim;
        if (norm == Norm::layernorm) {  // the mean coordinate's share of the input norm shows
          options.spec.dim = 3;
          options.spec.input_norm = 3;
          if (alpha > 0) options.spec.alpha = 0.8;
        }
        if (norm == Norm::rmsnorm) options.spec.mask = Mask::parse("window:4");
        SCOPED_TRACE(to_string(norm) + " " + to_string(inputs) + " " + std::to_string(alpha));
        expect_same_distribution(options);
      }
    }
  }
}

struct RecencyRow {
  double alpha;
  Norm norm;
  bool residual;
  int dim;
  double published[3];  // layers 2, 3, 4 as the paper counts
};

// The published table ("LayerNorm Induces Recency Bias"): n 10, 1e7 samples, scale 1/sqrt(dim),
// inputs (g + l c)/sqrt(dim), which is input norm 1/sqrt(1 - alpha) here.
TEST(Simulation, PublishedRecencyProbabilities) {
  const RecencyRow rows[] = {
      {0, Norm::none, false, 16, {.5005, .0822, .0140}},
      {0, Norm::none, false, 64, {.5000, .0069, .0001}},
      {0, Norm::layernorm, false, 16, {.5015, .5051, .5114}},
      {0, Norm::layernorm, false, 64, {.5000, .5000, .5000}},
      {.5, Norm::layernorm, false, 16, {.6382, .8002, .9079}},
      {.5, Norm::layernorm, false, 64, {.5544, .6274, .7073}},
      {.5, Norm::layernorm, true, 16, {.5931, .6610, .7078}},
      {.5, Norm::layernorm, true, 64, {.5457, .5791, .6053}},
  };
  for (const RecencyRow& row : rows) {
    SimulationOptions options;
    options.spec.n = 10;
    options.spec.dim = row.dim;
    options.spec.alpha = row.alpha;
    options.spec.norm = row.norm;
    options.spec.score_scale = ScoreScale::inv_sqrt_dim;
    options.spec.inputs = Inputs::gaussian;
    options.spec.input_norm = 1 / std::sqrt(1 - row.alpha);
    options.spec.residual = row.residual;
    options.recency = true;
    options.samples = test::kSanitized ? 2000 : 20000;
    constexpr int kRuns = 8;
    std::vector<double> mean(4), square(4);
    for (int run = 0; run < kRuns; ++run) {
      options.seed = static_cast<std::uint64_t>(run);
      const ScoreMap map = simulate(options);
      for (std::size_t layer = 0; layer < 4; ++layer) {
        mean[layer] += map.recency[layer] / kRuns;
        square[layer] += map.recency[layer] * map.recency[layer] / kRuns;
      }
    }
    for (std::size_t layer = 0; layer < 4; ++layer) {
      const double variance = (square[layer] - mean[layer] * mean[layer]) / (kRuns - 1);
      const double expected = layer == 0 ? 0.5 : row.published[layer - 1];
      EXPECT_NEAR(mean[layer], expected, 4 * std::sqrt(std::max(0.0, variance)) + 6e-5)
          << "alpha " << row.alpha << ", " << to_string(row.norm) << ", residual " << row.residual
          << ", dim " << row.dim << ", layer " << layer;
    }
  }
}

void expect_identical(const ScoreMap& a, const ScoreMap& b) {
  const auto equal = [](const std::vector<float>& x, const std::vector<float>& y) {
    return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), [](float u, float v) {
             return u == v || (std::isnan(u) && std::isnan(v));
           });
  };
  EXPECT_TRUE(equal(a.scores, b.scores));
  EXPECT_TRUE(equal(a.variance, b.variance));
  EXPECT_TRUE(equal(a.probs, b.probs));
  EXPECT_TRUE(equal(a.scores_groups, b.scores_groups));
  EXPECT_EQ(a.recency, b.recency);
  EXPECT_EQ(a.monotonicity, b.monotonicity);
  EXPECT_TRUE(equal(a.hidden_norm, b.hidden_norm));
  EXPECT_TRUE(equal(a.hidden_cosine, b.hidden_cosine));
}

TEST(Simulation, AnyThreadCountGivesTheSameBits) {
  const int threads = thread_count();
  std::vector<SimulationOptions> cases(3, layernorm());
  cases[0].spec.n = 40;
  cases[1].spec.rope_theta = 1e4;
  cases[2].groups = 3;
  for (SimulationOptions& options : cases) {
    options.samples = test::kSanitized ? 2003 : 5003;
    options.spec.alpha = 0.1;
    options.variance = options.probs = options.recency = options.monotonicity = true;
    options.hidden_geometry = true;
    set_thread_count(1);
    const ScoreMap one = simulate(options);
    for (const int count : {2, 5}) {
      set_thread_count(count);
      expect_identical(simulate(options), one);
    }
  }
  set_thread_count(threads);
}

TEST(Simulation, SeedsDiffer) {
  SimulationOptions options = small();
  const ScoreMap a = simulate(options), again = simulate(options);
  options.seed += 1;
  expect_identical(a, again);
  EXPECT_NE(a.layer(0)(1, 0), simulate(options).layer(0)(1, 0));
  options.seed += std::uint64_t{1} << 32;
  EXPECT_NE(simulate(options).layer(0)(1, 0), a.layer(0)(1, 0));
}

// Sample s belongs to group s mod G: with as many samples as groups, each group is one sample.
TEST(Simulation, GroupsAreInterleavedSamples) {
  SimulationOptions options = layernorm();
  options.samples = 3;
  options.groups = 3;
  const ScoreMap map = simulate(options);
  options.groups = 0;
  std::vector<ScoreMap> firsts;
  for (options.samples = 1; options.samples <= 3; ++options.samples) {
    firsts.push_back(simulate(options));
  }
  for_pairs(options.spec, [&](std::size_t i, std::size_t j) {
    for (std::size_t layer = 0; layer < 4; ++layer) {
      const double first = map.group_layer(0, layer)(i, j);
      const double second = map.group_layer(1, layer)(i, j);
      const double third = map.group_layer(2, layer)(i, j);
      EXPECT_NEAR(first, firsts[0].layer(layer)(i, j), 2e-6);
      EXPECT_NEAR((first + second) / 2, firsts[1].layer(layer)(i, j), 2e-6);
      EXPECT_NEAR((first + second + third) / 3, firsts[2].layer(layer)(i, j), 2e-6);
      EXPECT_NEAR(map.layer(layer)(i, j), firsts[2].layer(layer)(i, j), 2e-6);
    }
  });
}

TEST(Simulation, MapSaysWhatItIs) {
  SimulationOptions options = small();
  options.samples = 10;
  options.spec.mask = Mask::parse("window:2");
  options.probs = true;
  const ScoreMap map = simulate(options);
  EXPECT_EQ(map.source, Source::simulation);
  EXPECT_EQ(map.stage, Stage::scaled);
  EXPECT_EQ(map.layers, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(map.provenance.engine, "triangular");
  EXPECT_EQ(map.provenance.seed, 3u);
  EXPECT_TRUE(map.variance.empty());
  for (std::size_t i = 0; i < 12; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < 12; ++j) {
      const bool seen = j <= i && i - j < 2;
      EXPECT_EQ(map.count[i * 12 + j], seen ? 10 : 0);
      EXPECT_EQ(std::isnan(map.layer(2)(i, j)), !seen);
      EXPECT_EQ(std::isnan(map.probs[i * 12 + j]), !seen);
      if (seen) sum += map.probs[i * 12 + j];
    }
    EXPECT_NEAR(sum, 1, 1e-6);
  }
}

TEST(Simulation, OverflowIsOneClearError) {
  SimulationOptions options = small();
  options.spec.norm = Norm::none;
  options.spec.layer_count = 64;
  options.spec.input_norm = 10;
  try {
    simulate(options);
    FAIL() << "expected an error";
  } catch (const UsageError&) {
    FAIL() << "expected a run-time error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("beyond 32-bit floats"), std::string::npos);
  }
}

TEST(Simulation, BadOptionsAreRefused) {
  const auto refusal = [](const auto& change) { return test::refusal(small(), change); };
  const auto expect = [&](const char* named, const auto& change) {
    EXPECT_NE(refusal(change).find(named), std::string::npos) << refusal(change);
  };
  expect("accepted", [](SimulationOptions&) {});
  expect("--samples 0", [](SimulationOptions& o) { o.samples = 0; });
  expect("--variance", [](SimulationOptions& o) { o.samples = 1, o.variance = true; });
  expect("--groups 1", [](SimulationOptions& o) { o.groups = 1; });
  expect("--groups 3000", [](SimulationOptions& o) { o.groups = 3000; });
  expect("--recency", [](SimulationOptions& o) { o.recency = true, o.spec.n = 2; });
  expect("--engine triangular", [](SimulationOptions& o) {
    o.engine = Engine::triangular;
    o.spec.rope_theta = 1e4;
  });
  expect("--mask full", [](SimulationOptions& o) {
    o.engine = Engine::triangular;
    o.spec.mask = Mask::parse("full");
  });
  expect("--alpha", [](SimulationOptions& o) { o.spec.alpha = 1; });
  expect("--monotonicity: expected a query that sees two keys before it, found none in layer 1",
         [](SimulationOptions& o) {
           o.monotonicity = true;
           o.spec.layer_masks[1] = Mask::parse("window:2");
         });
}

}  // namespace
}  // namespace poslens
