// Inputs that depend on each other, from the command line.

#include <gmock/gmock.h>

#include "cli/program.h"
#include "poslens/npz.h"
#include "poslens/score_map.h"

namespace poslens {
namespace {

using testing::Contains;
using testing::Pair;

class InputOptions : public ProgramTest {
 protected:
  Outcome run(const std::string& line, const std::string& out) const {
    std::vector<std::string> arguments = words(line + " --out");
    arguments.push_back(path(out).string());
    return run_program(arguments);
  }
  // All arrays must have the same bytes; meta.json has times in it.
  void expect_same_arrays(const std::string& a, const std::string& b) const {
    const NpzContents of_a = read_npz(path(a)), of_b = read_npz(path(b));
    ASSERT_EQ(of_a.arrays.size(), of_b.arrays.size());
    for (const auto& [name, array] : of_a.arrays) {
      EXPECT_TRUE(array.bytes == of_b.arrays.at(name).bytes) << name;
    }
  }
};

TEST_F(InputOptions, ContradictionsAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"--alpha 0.2@0-3,0.6@3",
       "--alpha 0.2@0-3,0.6@3: expected one alpha a position, found two for "
       "position 3"},
      {"--alpha 0.2@0-3,0.6@7,2", "expected one alpha a position, found two for position 2"},
      {"--alpha 0.1,0.2@0,0.3", "expected one alpha without @POSITIONS at most"},
      {"--alpha 0.2@0-50", "--alpha 0.2@0-50: expected positions below 50, as --n says, found 50"},
      {"--alpha 0.2@", "--alpha : expected a list of positions such as 0-3,7"},
      {"--alpha 0.2@1-x", "expected a list of positions"},
      {"--alpha @0-3", "--alpha : expected a number"},
      {"--alpha 1@0-3", "--alpha 1@0-3: expected 0 <= alpha < 1"},
      {"--alpha nan", "--alpha nan: expected 0 <= alpha < 1"},
      {"--alpha 0.2@0-3 --alpha-between 0.1", "--alpha-between 0.1: expected 0 to 0, the smallest"},
      {"--alpha 0.2 --alpha-between 0.1", "--alpha-between 0.1: expected groups of tokens too"},
      {"--alpha 0.2 --markov 0.5", "--markov 0.5: expected --alpha 0, found --alpha 0.2"},
      {"--alpha 0.2@3 --markov 0.5", "--markov 0.5: expected --alpha 0, found --alpha 0.2@3"},
      {"--markov 1", "--markov 1: expected -1 < rho < 1"},
      {"--markov nan", "--markov nan: expected -1 < rho < 1"},
  };
  for (const auto& [options, message] : cases) {
    for (const std::string verb : {"theory ", "simulate --samples 10 "}) {
      expect_error_with(run(verb + options, "map.npz"), 2, message);
    }
  }
  expect_error_with(run("theory --closed-form --markov 0.5", "map.npz"), 2,
                    "--markov 0.5: the closed form of the second layer holds for --markov 0 only");
  expect_error_with(run("theory --closed-form --alpha 0.2@0-4", "map.npz"), 2,
                    "--alpha 0.2@0-4: the closed form of the second layer holds for one alpha");
  EXPECT_THAT(files(), testing::IsEmpty());
}

// Every pair of positions in the first layer, read as it was written: lists, ranges, the rest.
TEST_F(InputOptions, GroupsMeanWhatTheySay) {
  const Outcome outcome =
      run("theory --n 7 --alpha 0.3,0.6@4-5,0.2@0-1,3 --alpha-between 0.1 --layers 1", "map.npz");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const ScoreMap map = load_score_map(path("map.npz"));
  const char groups[] = "aaxabbx";
  for (std::size_t i = 0; i < 7; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const float within = groups[i] == 'a' ? 0.2F : groups[i] == 'b' ? 0.6F : 0.3F;
      EXPECT_FLOAT_EQ(map.layer(0)(i, j), groups[i] == groups[j] ? within : 0.1F) << i << j;
    }
  }
  // The options are those that make the map again, in whatever order the groups were given.
  EXPECT_THAT(map.provenance.options, Contains(Pair("alpha", "0.3,0.2@0-1,3,0.6@4-5")));
  EXPECT_THAT(map.provenance.options, Contains(Pair("alpha-between", "0.1")));
}

// The run's options travel in the shards, and a run that was cut short goes on with them.
TEST_F(InputOptions, ShardsMergeToOneRun) {
  for (const std::string dependence :
       {"--alpha 0.3,0.6@4-5,0.2@0-1,3 --alpha-between 0.1", "--markov -0.7"}) {
    const std::string line =
        "simulate --n 11 --samples 2500 --force --layers 2 --seed 5 " + dependence;
    ASSERT_EQ(run(line, "whole").code, 0);
    ASSERT_EQ(run(line + " --shard 1/2", "one").code, 0);
    ASSERT_EQ(run(line + " --shard 2/2 --checkpoint 0 --resume", "two").code, 0);
    const std::string shards = path("one").string() + " " + path("two").string();
    const Outcome merged = run("merge --force " + shards, "merged");
    ASSERT_EQ(merged.code, 0) << merged.err;
    expect_same_arrays("merged", "whole");
    EXPECT_EQ(load_score_map(path("merged")).provenance.options,
              load_score_map(path("whole")).provenance.options);
  }
  // Shards of other inputs do not belong together.
  ASSERT_EQ(run("simulate --n 11 --samples 2500 --layers 2 --seed 5 --markov 0.7 --shard 1/2 "
                "--force",
                "one")
                .code,
            0);
  expect_error_with(run("merge " + path("two").string() + " " + path("one").string(), "other"), 1,
                    "expected --markov -0.7, found 0.7");
}

}  // namespace
}  // namespace poslens
