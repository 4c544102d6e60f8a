// Runs in parts: shards that are merged, and runs that go on from a checkpoint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "poslens/error.h"
#include "poslens/simulation.h"
#include "poslens/threads.h"
#include "simulation/block_set.h"
#include "support/temporary_folder.h"

namespace poslens {
namespace {

using testing::HasSubstr;

// Five blocks, the last one short.
SimulationOptions small() {
  SimulationOptions options;
  options.spec.n = 11;
  options.spec.alpha = 0.1;
  options.samples = 4203;
  options.seed = 5;
  options.variance = options.probs = options.recency = options.monotonicity = true;
  options.hidden_geometry = true;
  return options;
}

template <typename T>
void expect_bits(const std::vector<T>& a, const std::vector<T>& b, const char* what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  EXPECT_TRUE(a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0) << what;
}

void expect_identical(const ScoreMap& a, const ScoreMap& b) {
  expect_bits(a.scores, b.scores, "scores");
  expect_bits(a.count, b.count, "count");
  expect_bits(a.variance, b.variance, "variance");
  expect_bits(a.probs, b.probs, "probs");
  expect_bits(a.scores_groups, b.scores_groups, "scores_groups");
  expect_bits(a.recency, b.recency, "recency");
  expect_bits(a.monotonicity, b.monotonicity, "monotonicity");
  expect_bits(a.hidden_norm, b.hidden_norm, "hidden_norm");
  expect_bits(a.hidden_cosine, b.hidden_cosine, "hidden_cosine");
  EXPECT_EQ(a.sums, b.sums);
  EXPECT_EQ(a.provenance.averaging, b.provenance.averaging);
  EXPECT_EQ(a.provenance.options, b.provenance.options);
}

std::vector<NamedMap> shards_of(SimulationOptions options, int count) {
  std::vector<NamedMap> shards;
  for (int index = 1; index <= count; ++index) {
    options.shard = Shard{index, count};
    shards.push_back({"part" + std::to_string(index), simulate(options)});
  }
  return shards;
}

TEST(Shards, MergedGiveTheBitsOfOneRun) {
  std::vector<SimulationOptions> cases(3, small());
  cases[1].groups = 3;
  cases[2].spec.rope_theta = 100;
  cases[2].spec.norm = Norm::layernorm;
  cases[2].spec.mask = Mask::parse("full");
  for (const SimulationOptions& options : cases) {
    const ScoreMap whole = simulate(options);
    EXPECT_TRUE(whole.sums.empty());
    for (const int count : {1, 3}) {
      std::vector<NamedMap> shards = shards_of(options, count);
      std::reverse(shards.begin(), shards.end());
      expect_identical(merge_shards(options, shards), whole);
    }
  }
}

// Whatever a shard's file does to it.
TEST(Shards, SurviveTheirFiles) {
  const TemporaryFolder folder;
  const SimulationOptions options = small();
  std::vector<NamedMap> shards = shards_of(options, 2);
  for (NamedMap& shard : shards) {
    const std::filesystem::path path = folder.path() / shard.name;
    save(shard.map, path);
    shard.map = load_score_map(path);
  }
  expect_identical(merge_shards(options, shards), simulate(options));
}

TEST(Shards, AShardSaysWhatItIs) {
  const std::vector<NamedMap> shards = shards_of(small(), 2);
  EXPECT_EQ(shards[0].map.provenance.averaging, "mean over 2048 samples, a part of 4203");
  EXPECT_EQ(shards[0].map.count[0], 2048);
  EXPECT_EQ(shards[1].map.count[0], 4203 - 2048);
  EXPECT_EQ(shards[1].map.provenance.options.back(),
            std::pair(std::string("shard"), std::string("2/2")));
}

std::string refusal(const SimulationOptions& options, const std::vector<NamedMap>& shards) {
  try {
    merge_shards(options, shards);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Shards, PartsThatDoNotBelongTogetherAreRefused) {
  const SimulationOptions options = small();
  const std::vector<NamedMap> shards = shards_of(options, 3);
  EXPECT_EQ(refusal(options, {shards[0], shards[2]}),
            "expected every shard, but these are missing: 2/3");
  EXPECT_EQ(refusal(options, {shards[0], shards[1], shards[1], shards[2]}),
            "part2: shard 2/3 is given twice, also as part2");
  EXPECT_EQ(refusal(options, {}), "expected shards to merge, found none");
  EXPECT_THAT(refusal(options, {shards[0], {"whole", simulate(options)}}),
              HasSubstr("whole: expected a shard"));
  EXPECT_EQ(refusal(options, {shards[0], shards_of(options, 2)[1]}),
            "part2: expected one of 3 shards, as part1 is, found shard 2/2");

  const auto other = [&](const auto& change) {
    SimulationOptions changed = options;
    changed.shard = Shard{2, 3};
    change(changed);
    return refusal(options, {shards[0], {"other", simulate(changed)}, shards[2]});
  };
  EXPECT_EQ(other([](SimulationOptions& o) { o.seed = 6; }), "other: expected --seed 5, found 6");
  EXPECT_EQ(other([](SimulationOptions& o) { o.spec.alpha = 0.2; }),
            "other: expected --alpha 0.1, found 0.2");
  EXPECT_EQ(other([](SimulationOptions& o) { o.probs = false; }),
            "other: expected --probs on, found none");
  EXPECT_EQ(other([](SimulationOptions& o) { o.groups = 2; }),
            "other: expected --groups none, found 2");
  EXPECT_EQ(other([](SimulationOptions& o) { o.samples = 4204; }),
            "other: expected --samples 4203, found 4204");
  EXPECT_EQ(other([](SimulationOptions& o) { o.engine = Engine::dense; }),
            "other: expected --engine triangular, found dense");
}

TEST(Shards, DamagedSumsAreRefused) {
  const SimulationOptions options = small();
  const auto damaged = [&](const auto& change) {
    std::vector<NamedMap> shards = shards_of(options, 2);
    change(shards[0].map.sums);
    return refusal(options, shards);
  };
  EXPECT_EQ(damaged([](auto& sums) { sums.erase("recency"); }),
            "part1: has no array 'sum_recency'");
  EXPECT_THAT(damaged([](auto& sums) { sums["scores"].pop_back(); }),
              HasSubstr("part1: sum_scores: expected"));
  EXPECT_THAT(damaged([](auto& sums) {
                sums["blocks"] = {0, 7};
              }),
              HasSubstr("part1: sum_blocks: expected ascending ranges of 5 blocks, found 0-7"));
  EXPECT_THAT(damaged([](auto& sums) {
                sums["blocks"] = {0, 1};
              }),
              HasSubstr("part1: shard 1/2 is not complete"));
}

TEST(Shards, MoreShardsThanBlocksAreRefused) {
  SimulationOptions options = small();
  options.shard = Shard{1, 6};
  EXPECT_THROW(simulate(options), UsageError);
}

TEST(Shards, NamesAreChecked) {
  EXPECT_EQ(Shard::parse("2/3").text(), "2/3");
  for (const char* text : {"", "2", "0/3", "4/3", "2/", "/3", "a/3", "2/3 ", "-1/3", "1/1000001"}) {
    EXPECT_THROW(Shard::parse(text), UsageError) << text;
  }
}

// A checkpoint is what a run that dies then would have left: of the first block, in a run this
// short.
TEST(Checkpoints, AResumedRunHasTheBitsOfAnUninterruptedOne) {
  const TemporaryFolder folder;
  const int threads = thread_count();
  SimulationOptions options = small();
  options.groups = 2;
  for (const bool sharded : {false, true}) {
    if (sharded) options.shard = Shard{2, 2};
    const ScoreMap whole = simulate(options);
    for (const int count : {1, 2, 5}) {
      set_thread_count(count);
      const RunCheckpoint checkpoint{folder.path() / "map.partial", 0, false};
      expect_identical(simulate(options, checkpoint), whole);
      const ScoreMap left = load_score_map(checkpoint.file);
      EXPECT_LT(left.count[0], 4203);
      EXPECT_THAT(left.provenance.averaging, HasSubstr(", a part of 4203"));
      expect_identical(simulate(options, {checkpoint.file, 1000, true}), whole);
    }
    set_thread_count(threads);
  }
}

TEST(Checkpoints, NoneIsWrittenAfterTheLastBlock) {
  const TemporaryFolder folder;
  const RunCheckpoint checkpoint{folder.path() / "map.partial", 0, false};
  SimulationOptions options = small();
  options.samples = 100;  // one block
  simulate(options, checkpoint);
  EXPECT_FALSE(std::filesystem::exists(checkpoint.file));
}

TEST(Checkpoints, OfAnotherRunAreRefused) {
  const TemporaryFolder folder;
  const RunCheckpoint checkpoint{folder.path() / "map.partial", 0, true};
  SimulationOptions options = small();
  simulate(options, checkpoint);
  const auto refused = [&](const auto& change) {
    SimulationOptions changed = options;
    change(changed);
    try {
      simulate(changed, checkpoint);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const std::string name = checkpoint.file.string();
  EXPECT_EQ(refused([](SimulationOptions& o) { o.seed = 9; }),
            name + ": expected --seed 9, found 5");
  EXPECT_EQ(refused([](SimulationOptions& o) { o.spec.dim = 32; }),
            name + ": expected --dim 32, found 64");
  EXPECT_EQ(refused([](SimulationOptions& o) {
              o.shard = Shard{1, 2};
            }),
            name + ": expected --shard 1/2, found none");
  EXPECT_EQ(refused([](SimulationOptions&) {}), "accepted");
}

TEST(BlockSet, KnowsWhatIsMissing) {
  BlockSet set;
  const auto missing = [&](std::int64_t first, std::int64_t last) {
    std::string text;
    for (const BlockRange& gap : set.missing({first, last})) {
      text += std::to_string(gap.first) + "-" + std::to_string(gap.last) + " ";
    }
    return text;
  };
  EXPECT_EQ(missing(3, 9), "3-9 ");
  set.add({4, 5});
  set.add({6, 7});
  EXPECT_EQ(missing(3, 9), "3-4 5-6 7-9 ");
  EXPECT_EQ(missing(4, 5), "");
  EXPECT_EQ(missing(0, 4), "0-4 ");
  set.add({5, 6});
  EXPECT_EQ(set.ranges().size(), 1u);
  EXPECT_EQ(missing(2, 9), "2-4 7-9 ");
  EXPECT_THROW(set.add({6, 8}), std::logic_error);
  EXPECT_THROW(set.add({3, 5}), std::logic_error);
}

}  // namespace
}  // namespace poslens
