// Observables beside means of scores, against closed forms and across engines.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "poslens/simulation.h"
#include "simulation/block.h"

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
  options.engine = Engine::dense;
  options.monotonicity = true;
  const Plan plan(options);
  const std::vector<float> inputs(6 * 8, 1);
  BlockRunner runner(plan);
  EXPECT_EQ(runner.run({0, 1, 1, inputs.data()}).monotone, std::vector<std::int64_t>(4, 0));
}

}  // namespace
}  // namespace poslens
