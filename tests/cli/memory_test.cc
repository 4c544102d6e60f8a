// Runs take the memory that is estimated for them, and those that would take too much are refused.

#include "simulation/memory.h"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

#include "cli/program.h"
#include "cli/simulation_options.h"
#include "poslens/score_map.h"
#include "support/sanitized.h"
#include "support/tiny_model.h"

namespace poslens {
namespace {

class Memory : public ProgramTest {
 protected:
  // The artefact that a command writes.
  ScoreMap result(const std::string& line) const {
    const std::string out = path("map.npz").string();
    const Outcome outcome = run_program(words(line + " --threads 2 --force --out " + out));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return load_score_map(out);
  }
  // What the program takes before it does anything.
  std::int64_t program_bytes() const { return result("theory --n 2").provenance.peak_memory_bytes; }
};

// With --checkpoint 0, so that what a checkpoint takes is there in a short run, too.
TEST_F(Memory, ASimulationTakesWhatIsEstimated) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  const std::int64_t program = program_bytes();
  for (const char* options :
       {"--n 800 --dim 16 --layers 3 --samples 20 --variance",
        "--n 500 --dim 8 --layers 2 --samples 40 --groups 4 --probs --hidden-geometry --norm "
        "layernorm --score-scale inv-dim",
        "--n 200 --dim 1024 --layers 1 --samples 40 --rope 1e4 --mask full"}) {
    const ScoreMap map = result(std::string("simulate --checkpoint 0 ") + options);
    const Plan plan(cli::simulation_options_of(map));
    RunCheckpoint checkpoint;
    checkpoint.file = path("map.npz.partial");
    const std::int64_t estimate = run_bytes(plan, checkpoint, 2);
    EXPECT_GT(estimate, 30 << 20) << "too little to tell";
    const std::int64_t taken = map.provenance.peak_memory_bytes - program;
    EXPECT_LT(static_cast<double>(taken), 1.02 * static_cast<double>(estimate) + 8e6) << options;
    // A busy machine may not have started the second thread when the first one is done.
    EXPECT_GT(static_cast<double>(taken), 0.5 * static_cast<double>(estimate)) << options;
  }
}

// One shard at a time, however many there are.
TEST_F(Memory, MergingTakesNoMoreForMoreShards) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  std::int64_t taken[2] = {};
  for (const int count : {2, 5}) {
    std::string line = "merge";
    for (int index = 1; index <= count; ++index) {
      const std::string shard = path(std::to_string(index)).string();
      const Outcome outcome = run_program(
          words("simulate --n 500 --dim 8 --layers 1 --samples 400 --force --shard " +
                std::to_string(index) + "/" + std::to_string(count) + " --out " + shard));
      ASSERT_EQ(outcome.code, 0) << outcome.err;
      line += " " + shard;
    }
    line += " --force --out ";
    line += path("merged.npz").string();
    const Outcome outcome = run_program(words(line));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    taken[count == 2 ? 0 : 1] = outcome.peak_memory_bytes;
  }
  EXPECT_LT(static_cast<double>(taken[1]), 1.1 * static_cast<double>(taken[0]));
}

// The mean field: four matrices of doubles, and the map.
TEST_F(Memory, TheoryTakesFourMatricesAndItsMap) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  const std::int64_t estimate = std::int64_t{800} * 800 * (4 * 8 + 8 + 3 * 4);
  const ScoreMap map = result("theory --n 800 --layers 3");
  const std::int64_t taken = map.provenance.peak_memory_bytes - program_bytes();
  EXPECT_LT(static_cast<double>(taken), 1.02 * static_cast<double>(estimate) + 8e6);
}

// --memory is kept, beside the mapped file and 32 MiB for the program and its libraries; results
// are the same.
TEST_F(Memory, AProbeStaysWithinWhatIsAllowed) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  tiny_model("gpt-2", 16).write(path("model.gguf").string());
  std::string text;
  RandomStream random(8, 2);
  for (int i = 0; i < 1 << 14; ++i) text += static_cast<char>('a' + random.below(26));
  write("book.txt", text);
  const std::string line = "probe " + path("model.gguf").string() + " --text " +
                           path("book.txt").string() +
                           " --length 512 --sequences 30 --groups 3 --probs --memory ";
  const auto file = static_cast<std::int64_t>(std::filesystem::file_size(path("model.gguf")));
  std::vector<ScoreMap> maps;
  for (const int mebibytes : {60, 160}) {
    maps.push_back(result(line + std::to_string(mebibytes) + "MiB"));
    EXPECT_LT(maps.back().provenance.peak_memory_bytes, file + (std::int64_t{mebibytes + 32} << 20))
        << mebibytes;
  }
  EXPECT_LT(maps[0].provenance.peak_memory_bytes + (16 << 20), maps[1].provenance.peak_memory_bytes)
      << "less memory makes no difference";
  for (std::size_t i = 0; i < maps[0].scores.size(); ++i) {
    if (std::isnan(maps[0].scores[i])) continue;
    EXPECT_NEAR(maps[0].scores[i], maps[1].scores[i], 1e-5);
  }
  const Outcome outcome = run_program(words(line + "40MiB --out " + path("no.npz").string()));
  expect_error_with(outcome, 2, "--memory 40 MiB: expected at least ");
  EXPECT_THAT(outcome.err, testing::HasSubstr(" MiB of it for the maps"));
}

TEST_F(Memory, WhatDoesNotFitIsRefusedBeforeAnyWork) {
  const std::string out = path("map.npz").string();
  const Outcome outcome = run_program(
      words("simulate --n 4096 --dim 16384 --layers 64 --mask full --samples 1000000 --variance "
            "--threads 1024 --out " +
            out));
  expect_error_with(outcome, 2,
                    "--n 4096 --dim 16384 --layers 64 --variance --threads 1024: expected a run "
                    "that fits into the ");
  EXPECT_THAT(outcome.err, testing::ContainsRegex("found one that needs [0-9]{14} bytes"));
  EXPECT_THAT(files(), testing::IsEmpty());
}

}  // namespace
}  // namespace poslens
