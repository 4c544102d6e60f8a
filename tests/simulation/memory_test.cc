// Maps that are too large for sums of each lane and thread.

#include "simulation/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "poslens/threads.h"

namespace poslens {
namespace {

SimulationOptions large() {
  SimulationOptions options;
  options.spec.n = 420;
  options.spec.dim = 8;
  options.samples = 40;  // three blocks
  options.variance = true;
  return options;
}

TEST(LargeMaps, ThreadsAndShardsGiveTheSameBits) {
  SimulationOptions options = large();
  ASSERT_FALSE(Plan(options).lane_sums);
  const auto expect_same = [](const ScoreMap& a, const ScoreMap& b) {
    ASSERT_EQ(a.scores.size(), b.scores.size());
    EXPECT_EQ(std::memcmp(a.scores.data(), b.scores.data(), a.scores.size() * 4), 0);
    ASSERT_EQ(a.variance.size(), b.variance.size());
    EXPECT_EQ(std::memcmp(a.variance.data(), b.variance.data(), a.variance.size() * 4), 0);
  };
  const int threads = thread_count();
  set_thread_count(1);
  const ScoreMap one = simulate(options);
  set_thread_count(2);
  expect_same(simulate(options), one);
  set_thread_count(threads);
  std::vector<NamedMap> shards;
  for (const int index : {1, 2}) {
    options.shard = Shard{index, 2};
    shards.push_back({std::to_string(index), simulate(options)});
  }
  options.shard.reset();
  expect_same(merge_shards(options, shards), one);
}

// No more workers than blocks; a checkpoint takes more than a run without, where there is one.
TEST(RunBytes, CountWhatTheRunHas) {
  const Plan plan(large());
  const std::int64_t one = run_bytes(plan, {}, 1), two = run_bytes(plan, {}, 2);
  EXPECT_GT(two, one);
  EXPECT_EQ(run_bytes(plan, {}, 4), run_bytes(plan, {}, 3));
  EXPECT_EQ(run_bytes(plan, {}, 3) - two, two - one);
  EXPECT_GT(run_bytes(plan, {.file = "map.partial"}, 2), two);
  SimulationOptions options = large();
  options.readout = 100;  // threads at least as large as those of the run, and their sums
  EXPECT_GT(run_bytes(Plan(options), {}, 2), two);
  options.readout = 0;
  options.samples = 16;  // one block
  EXPECT_EQ(run_bytes(Plan(options), {.file = "map.partial"}, 2), one);
}

}  // namespace
}  // namespace poslens
