// Runs in parts, from the command line: shards and their merge, and runs that were killed.
#include "cli/program.h"
#include "poslens/score_map.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;

class Simulate : public ProgramTest {
 protected:
  std::vector<std::string> simulate(const std::string& line, const std::string& out) const {
    std::vector<std::string> arguments = words("simulate " + line + " --out");
    arguments.push_back(path(out).string());
    return arguments;
  }
};

constexpr const char* kOptions =
    "--n 11 --samples 4203 --alpha 0.1 --seed 5 --variance --probs --recency --monotonicity "
    "--hidden-geometry --groups 2 "
    "--norm layernorm --score-scale inv-dim --no-residual --mask window:4";

TEST_F(Simulate, ShardsMergeToOneRun) {
  expect_success(run_program(simulate(kOptions, "whole.npz")));
  std::vector<std::string> merge = {"merge"};
  for (const char* shard : {"1/3", "2/3", "3/3"}) {
    const std::string name = std::string("part") + shard[0];
    expect_success(run_program(simulate(kOptions + std::string(" --shard ") + shard, name)));
    merge.push_back(path(name).string());
  }
  merge.insert(merge.end(), {"--out", path("merged.npz").string()});
  expect_success(run_program(merge));
  expect_same_arrays(path("merged.npz"), path("whole.npz"));
  EXPECT_EQ(files(),
            (std::vector<std::string>{"merged.npz", "part1", "part2", "part3", "whole.npz"}));

  merge[1] = path("whole.npz").string();
  merge.back() = path("other.npz").string();
  expect_error_with(run_program(merge), 1, "whole.npz: expected a shard of a simulation");
}

TEST_F(Simulate, ARunThatWasKilledGoesOn) {
  const std::string line = "--n 40 --samples 20003 --groups 3 --variance --rope 1e4 --seed 8";
  expect_success(run_program(simulate(line, "whole.npz")));
  kill_once_there_is(path("map.npz.partial"),
                     simulate(line + " --checkpoint 0 --threads 2", "map.npz"));
  EXPECT_FALSE(fs::exists(path("map.npz")));

  expect_error_with(run_program(simulate(line, "map.npz")), 1,
                    "map.npz.partial: is of an interrupted run; --resume goes on with it");
  expect_error_with(run_program(simulate(line + "1 --resume", "map.npz")), 1,
                    "map.npz.partial: expected --seed 81, found 8");
  ASSERT_TRUE(fs::exists(path("map.npz.partial")));

  expect_success(run_program(simulate(line + " --resume --threads 1", "map.npz")));
  expect_same_arrays(path("map.npz"), path("whole.npz"));
  EXPECT_EQ(files(), (std::vector<std::string>{"map.npz", "whole.npz"}));
}

TEST_F(Simulate, KeepsTheReadout) {
  expect_success(
      run_program(simulate("--n 9 --layers 2 --readout 50 --readout-keys 3 --alibi 0.5", "a.npz")));
  const ScoreMap map = load_score_map(path("a.npz"));
  ASSERT_EQ(map.readout_r2.size(), 2u);
  ASSERT_EQ(map.readout_error.size(), 2u);
  EXPECT_GT(map.readout_r2[0], 0.9);
  EXPECT_LT(map.readout_error[0], 0.5);
  EXPECT_EQ(map.provenance.options.back(),
            std::pair(std::string("readout-keys"), std::string("3")));
  const Outcome outcome =
      run_program({"metrics", path("a.npz").string(), "--measures", "position"});
  EXPECT_NE(outcome.out.find("from its scores in one sample, by a linear fit; 6 positions"),
            std::string::npos)
      << outcome.out << outcome.err;
}

TEST_F(Simulate, WrongPartsAreRefused) {
  expect_error(run_program(simulate("--shard 4/3", "a.npz")), 2,
               "--shard 4/3: expected i/N with 1 <= i <= N <= 1000000");
  expect_error_with(run_program(simulate("--samples 100 --shard 2/3", "a.npz")), 2,
                    "--shard 2/3: 100 samples make 1 blocks");
  expect_error_with(run_program(simulate("--checkpoint -1", "a.npz")), 2, "--checkpoint -1");
  expect_error_with(run_program(simulate("--readout 9 --samples 9999 --shard 1/2", "a.npz")), 2,
                    "--readout 9: expected no --shard, found 1/2");
  EXPECT_EQ(files(), std::vector<std::string>());
}

}  // namespace
}  // namespace poslens
