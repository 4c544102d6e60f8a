// The single-instance readout: what it can tell and what it cannot.
#include "simulation/readout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "poslens/error.h"
#include "poslens/threads.h"
#include "simulation/refusal.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace poslens {
namespace {

using testing::HasSubstr;

SimulationOptions readout(std::int64_t samples) {
  SimulationOptions options;
  options.spec.n = 12;
  options.spec.dim = 16;
  options.samples = 1;
  options.readout = test::kSanitized ? samples / 10 : samples;
  options.seed = 4;
  return options;
}

// Without correlation the scores of the first layer are uncorrelated and of variance v = 1/dim,
// whatever the position; ALiBi adds slope (j - i) to all. Then the best linear fit to K scores
// explains slope^2 V K / (v + slope^2 V K) of the variance V of the positions.
TEST(Readout, OfAlibiHasAClosedForm) {
  for (const Engine engine : {Engine::triangular, Engine::dense}) {
    for (const auto& [slope, keys] : {std::pair{0.02, 6}, std::pair{0.1, 6}, std::pair{0.1, 3}}) {
      SimulationOptions options = readout(20000);
      options.engine = engine;
      options.spec.layer_count = 1;
      options.spec.alibi_slope = slope;
      options.readout_keys = keys;
      const double queries = 12 - keys;
      const double signal = slope * slope * keys * (queries * queries - 1) / 12;
      const Readout found = read_out(options);
      EXPECT_NEAR(found.r2[0], signal / (1.0 / 16 + signal), test::kSanitized ? 0.03 : 0.01)
          << to_string(engine) << ", slope " << slope << ", keys " << keys;
    }
  }
}

// Full mask, no encoding, no correlation: positions are exchangeable, and nothing tells them. A
// guess of the middle is off by a quarter of the positions.
TEST(Readout, FindsNothingWhereThereIsNothing) {
  SimulationOptions options = readout(10000);
  options.readout = 10000;  // too noisy with the fewer ones that sanitizers get
  options.spec.mask = Mask::parse("full");
  options.spec.residual = 0;
  const Readout found = read_out(options);
  ASSERT_EQ(found.r2.size(), 4u);
  for (std::size_t layer = 0; layer < 4; ++layer) {
    EXPECT_NEAR(found.r2[layer], 0, test::kSanitized ? 0.02 : 0.002);
    EXPECT_NEAR(found.error[layer], 1.5, 0.02);
  }
}

// The causal mask tells positions from the second layer on, a rotary encoding of correlated inputs
// in every layer.
TEST(Readout, FindsMaskAndEncoding) {
  SimulationOptions options = readout(5000);
  options.spec.n = 32;
  options.spec.dim = 64;
  options.spec.alpha = 0.5;
  options.spec.residual = 0;
  const Readout mask = read_out(options);
  EXPECT_NEAR(mask.r2[0], 0, test::kSanitized ? 0.02 : 0.002);
  for (std::size_t layer = 1; layer < 4; ++layer) {
    EXPECT_GT(mask.r2[layer], 0.3);
    EXPECT_LT(mask.error[layer], 0.85 * mask.error[0]);
  }
  options.spec.mask = Mask::parse("full");
  options.spec.rope_theta = 1e4;
  const Readout encoding = read_out(options);
  for (std::size_t layer = 0; layer < 4; ++layer) EXPECT_GT(encoding.r2[layer], 0.1);
}

TEST(Readout, EnginesAgree) {
  SimulationOptions options = readout(10000);
  options.spec.norm = Norm::layernorm;
  options.spec.score_scale = ScoreScale::inv_sqrt_dim;
  options.spec.alpha = 0.5;
  options.engine = Engine::triangular;
  const Readout triangular = read_out(options);
  options.engine = Engine::dense;
  options.seed = 5;
  const Readout dense = read_out(options);
  for (std::size_t layer = 0; layer < 4; ++layer) {
    EXPECT_NEAR(triangular.r2[layer], dense.r2[layer], test::kSanitized ? 0.06 : 0.02);
    EXPECT_NEAR(triangular.error[layer], dense.error[layer], test::kSanitized ? 0.09 : 0.03);
  }
}

TEST(Readout, AnyThreadCountGivesTheSameBits) {
  const int threads = thread_count();
  SimulationOptions options = readout(3001);
  set_thread_count(1);
  const Readout one = read_out(options);
  for (const int count : {2, 5}) {
    set_thread_count(count);
    const Readout found = read_out(options);
    EXPECT_EQ(found.r2, one.r2);
    EXPECT_EQ(found.error, one.error);
  }
  set_thread_count(threads);
}

// Scores that all but equal each other leave nothing but rounding to fit.
TEST(Readout, StaysFiniteWithoutVariance) {
  SimulationOptions options = readout(500);
  options.spec.dim = 16384;
  options.spec.alpha = 0.999999;
  for (const double r2 : read_out(options).r2) {
    EXPECT_LT(r2, 1);
    EXPECT_GT(r2, -1);
  }
}

TEST(Readout, IsInTheArtefactOfAWholeRun) {
  const TemporaryFolder folder;
  SimulationOptions options = readout(200);
  options.readout = 20;
  options.samples = 5000;
  const ScoreMap whole = simulate(options);
  const Readout alone = read_out(options);
  EXPECT_EQ(whole.readout_r2, alone.r2);
  EXPECT_EQ(whole.readout_error, alone.error);
  EXPECT_EQ(
      whole.provenance.averaging,
      "mean over 5000 samples; readout fitted to samples 0 to 19, tested on samples 20 to 39");
  EXPECT_EQ(whole.provenance.options.back(),
            std::pair(std::string("readout-keys"), std::string("6")));
  // A resumed run makes it again.
  const RunCheckpoint checkpoint{folder.path() / "map.partial", 0, false};
  simulate(options, checkpoint);
  EXPECT_TRUE(load_score_map(checkpoint.file).readout_r2.empty());
  EXPECT_EQ(simulate(options, {checkpoint.file, 1000, true}).readout_r2, alone.r2);
}

TEST(Readout, BadOptionsAreRefused) {
  const auto refusal = [](const auto& change) { return test::refusal(readout(100), change); };
  EXPECT_EQ(refusal([](SimulationOptions&) {}), "accepted");
  EXPECT_EQ(refusal([](SimulationOptions& o) { o.readout_keys = 10; }), "accepted");
  EXPECT_EQ(refusal([](SimulationOptions& o) { o.readout_keys = 11; }),
            "--readout-keys 11: expected 1 to 10 with --n 12");
  EXPECT_EQ(refusal([](SimulationOptions& o) { o.readout_keys = -1; }),
            "--readout-keys -1: expected 1 to 10 with --n 12");
  EXPECT_EQ(refusal([](SimulationOptions& o) { o.readout = 0, o.readout_keys = 4; }),
            "--readout-keys 4: expected --readout SAMPLES too");
  EXPECT_EQ(refusal([](SimulationOptions& o) { o.readout = -1; }),
            "--readout -1: expected 1 to 100000000 samples");
  EXPECT_EQ(refusal([](SimulationOptions& o) { o.spec.n = 2; }),
            "--readout: expected --n from 3, found 2");
  EXPECT_THAT(refusal([](SimulationOptions& o) {
                o.shard = Shard{1, 2};
              }),
              HasSubstr("expected no --shard, found 1/2"));
  EXPECT_EQ(refusal([](SimulationOptions& o) { o.spec.layer_masks[2] = Mask::parse("window:8"); }),
            "--readout: expected queries from 6 on to see keys 0 to 5, found that query 8 does not "
            "in layer 2 with --mask causal,window:8@2");
  EXPECT_THAT(refusal([](SimulationOptions& o) { o.spec.mask = Mask::parse("strided:2"); }),
              HasSubstr("found that query 6 does not in layer 0"));
}

}  // namespace
}  // namespace poslens
