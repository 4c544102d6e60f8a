// `probe` in parts, from the command line: shards and their merge, and runs that were killed.
#include <algorithm>
#include <string>

#include "cli/program.h"
#include "poslens/score_map.h"
#include "support/tiny_model.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;

class ProbeInParts : public ProgramTest {
 protected:
  ProbeInParts() {
    tiny_model().write(path("tiny.gguf").string());
    std::string text;
    RandomStream random(8, 2);
    for (int i = 0; i < 1 << 18; ++i) text += static_cast<char>('a' + random.below(26));
    write("book.txt", text);
  }

  std::vector<std::string> probe(const std::string& line, const std::string& out) const {
    std::vector<std::string> arguments = {"probe", path("tiny.gguf").string(), "--text",
                                          path("book.txt").string()};
    for (const std::string& word : words(line)) arguments.push_back(word);
    arguments.insert(arguments.end(), {"--out", path(out).string()});
    return arguments;
  }
  std::vector<std::string> merge(const std::vector<std::string>& shards) const {
    std::vector<std::string> arguments = {"merge"};
    for (const std::string& shard : shards) arguments.push_back(path(shard).string());
    arguments.insert(arguments.end(), {"--force", "--out", path("merged.npz").string()});
    return arguments;
  }
};

TEST_F(ProbeInParts, ShardsMergeToOneRun) {
  const std::string line = "--length 10 --sequences 7 --groups 2 --shuffle within --seed 4";
  expect_success(run_program(probe(line, "whole.npz")));
  for (const char* index : {"1", "2", "3"}) {
    const Outcome outcome =
        run_program(probe(line + " --shard " + index + "/3", std::string("part") + index));
    expect_success(outcome);
    EXPECT_NE(outcome.out.find(index[0] == '3' ? " 30 tokens" : " 20 tokens"), std::string::npos)
        << outcome.out;
  }
  expect_success(run_program(merge({"part1", "part2", "part3"})));
  const ScoreMap merged = load_score_map(path("merged.npz"));
  const ScoreMap whole = load_score_map(path("whole.npz"));
  ASSERT_EQ(merged.scores_groups.size(), whole.scores_groups.size());
  float largest = 0;
  for (std::size_t i = 0; i < whole.scores.size(); ++i) {
    if (merged.count[i % whole.count.size()] == 0) continue;
    largest = std::max(largest, std::abs(whole.scores[i]));
    EXPECT_NEAR(merged.scores[i], whole.scores[i], 1e-5);
  }
  EXPECT_GT(largest, 0.5F);
  EXPECT_EQ(merged.provenance.averaging, whole.provenance.averaging);
  EXPECT_TRUE(merged.provenance.command_line.starts_with("poslens merge "));

  expect_error_with(run_program(merge({"part1", "part3"})), 1, "these are missing: 2/3");
  expect_error_with(run_program(merge({"part1", "part2", "part2", "part3"})), 1,
                    "part2: shard 2/3 is given twice");
  expect_error_with(run_program(merge({"whole.npz"})), 1,
                    "whole.npz: expected a shard of a model's run");
  expect_success(run_program(words("simulate --n 5 --out " + path("sim").string())));
  expect_error_with(run_program(merge({"part1", "sim"})), 1,
                    "sim: expected a shard of a model's run");
  expect_error_with(run_program(merge({"sim", "part1"})), 1, "sim: expected a shard of a sim");
}

TEST_F(ProbeInParts, ARunThatWasKilledGoesOn) {
  const std::string line = "--length 64 --sequences 1500 --groups 3 --variance --threads 2";
  expect_success(run_program(probe(line, "whole.npz")));
  kill_once_there_is(path("map.npz.partial"), probe(line + " --checkpoint 0", "map.npz"));
  EXPECT_FALSE(fs::exists(path("map.npz")));

  expect_error_with(run_program(probe(line, "map.npz")), 1,
                    "map.npz.partial: is of an interrupted run; --resume goes on with it");
  expect_error_with(run_program(probe(line + " --intervene rope=none --resume", "map.npz")), 1,
                    "map.npz.partial: expected --intervene rope=none, found none");
  ASSERT_TRUE(fs::exists(path("map.npz.partial")));

  expect_success(run_program(probe(line + " --resume", "map.npz")));
  expect_same_arrays(path("map.npz"), path("whole.npz"));
  EXPECT_EQ(files(), (std::vector<std::string>{"book.txt", "map.npz", "tiny.gguf", "whole.npz"}));
}

TEST_F(ProbeInParts, WrongPartsAreRefused) {
  expect_error(run_program(probe("--shard 4/3", "a.npz")), 2,
               "--shard 4/3: expected i/N with 1 <= i <= N <= 1000000");
  expect_error(run_program(probe("--length 9 --sequences 2 --shard 1/3", "a.npz")), 2,
               "--shard 1/3: expected at most as many shards as there are sequences, 2");
  expect_error_with(run_program(probe("--checkpoint -1", "a.npz")), 2, "--checkpoint -1");
  expect_error(run_program(probe("--seed 5", "a.npz")), 2,
               "--seed 5: expected --shuffle within too");
  EXPECT_EQ(files(), (std::vector<std::string>{"book.txt", "tiny.gguf"}));
}

}  // namespace
}  // namespace poslens
