#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "cli/program.h"
#include "poslens/score_map.h"
#include "support/tiny_model.h"

namespace poslens {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class Analyze : public ProgramTest {
 protected:
  Analyze() {
    tiny_model().write(path("tiny.gguf").string());
    write("book.txt",
          "It was the best of times, it was the worst of times, it was the age of wisdom, it was "
          "the age of foolishness, it was the epoch of belief.");
  }
  std::vector<std::string> arguments(const std::string& options) const {
    std::vector<std::string> arguments = {"analyze", path("tiny.gguf").string(),
                                          "--text",  path("book.txt").string(),
                                          "--out",   path("results").string()};
    for (const std::string& word : words(options)) arguments.push_back(word);
    return arguments;
  }
  Outcome analyze(const std::string& options) const { return run_program(arguments(options)); }
};

TEST_F(Analyze, PrintsTheAnswerAndWhereTheReportIs) {
  const Outcome outcome = analyze("--length 10 --sequences 12 --groups 4 --seed 7 --layers 0-1");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const std::string report = path("results/report.html").string();
  EXPECT_TRUE(outcome.out.ends_with("\n\nReport: " + report + "\n")) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("12 sequences of 10 tokens in 4 groups"));
  EXPECT_TRUE(std::filesystem::exists(report));
  const ScoreMap map = load_score_map(path("results/control_shuffled.npz"));
  EXPECT_THAT(map.layers, testing::ElementsAre(0, 1));
  EXPECT_EQ(map.provenance.seed, 7);
  EXPECT_EQ(map.groups, 0);
  EXPECT_THAT(map.provenance.command_line, HasSubstr("poslens analyze "));
}

TEST_F(Analyze, ChangesEveryCellAsAsked) {
  const Outcome outcome = analyze("--length 10 --sequences 12 --groups 4 --intervene bos=force");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Changed in every run, the model as it is included: BOS in "
                                     "front of every sequence."));
  const ScoreMap baseline = load_score_map(path("results/rope_causal.npz"));
  EXPECT_THAT(baseline.provenance.interventions, testing::ElementsAre("bos=force"));
  EXPECT_THAT(baseline.provenance.bos_policy, HasSubstr("(bos=force)"));
  const ScoreMap without = load_score_map(path("results/norope_full.npz"));
  EXPECT_THAT(without.provenance.interventions,
              testing::ElementsAre("bos=force", "rope=none", "mask=full"));
}

// Killed within the run of a cell, between two cells and within a later one.
TEST_F(Analyze, GoesOnAfterItWasKilled) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += fmt::format("Page {} of a long book. ", i * i);
  write("book.txt", text);
  const std::string line = "--length 64 --sequences 1200 --groups 3 --threads 2";
  ASSERT_EQ(analyze(line).code, 0);
  const auto content = [](const fs::path& file) {
    std::ifstream stream(file);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  const auto table = [&] {
    return content(path("results/measures.csv")) + content(path("results/effects.csv")) +
           content(path("results/decoding.csv")) + content(path("results/curves.csv"));
  };
  const std::string whole = table();
  fs::rename(path("results"), path("whole"));

  const std::vector<std::string> command = arguments(line + " --checkpoint 0");
  kill_once_there_is(path("results/rope_causal.npz.partial"), command);
  EXPECT_FALSE(fs::exists(path("results/report.html")));
  EXPECT_THAT(content(path("results/incomplete.json")),
              HasSubstr("\"missing\":[\"rope_causal.npz\",\"rope_full.npz\""));
  expect_error(
      analyze(line), 1,
      path("results/incomplete.json").string() +
          ": is of an interrupted analysis; --resume goes on with it, --force starts again");
  std::vector<std::string> resumed = command;
  resumed.emplace_back("--resume");
  kill_once_there_is(path("results/norope_causal.npz"), resumed);
  expect_error_with(analyze(line + " --resume --seed 9"), 1,
                    path("results/rope_causal.npz").string() + ": expected --seed 9, found 0");
  expect_error_with(analyze(line + " --resume --keep-groups"), 1,
                    "rope_causal.npz: expected 3 groups of sequences (--keep-groups), found 0");
  ASSERT_TRUE(fs::exists(path("results/norope_causal.npz")));
  kill_once_there_is(path("results/control_shuffled.npz.partial"), resumed);
  fs::remove(path("results/norope_full.groups"));  // as if killed while it tidied up

  const Outcome outcome = analyze(line + " --resume");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(table(), whole);
  const auto names = [&](const char* folder) {
    std::set<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(path(folder))) {
      found.insert(entry.path().filename().string());
    }
    return found;
  };
  EXPECT_EQ(names("results"), names("whole"));
}

TEST_F(Analyze, WrongOptions) {
  expect_error(analyze("--length 10 --sequences 12 --intervene mask=window:3@1"), 2,
               "--intervene mask=full: mask=window:3@1 sets the mask of layer 1 already");
  EXPECT_FALSE(std::filesystem::exists(path("results")));

  expect_error_with(analyze("--length 10 --sequences 2"), 2, "--groups 8: expected 1 to 2");
  expect_error_with(analyze("--length 10 --sequences 12 --groups 2"), 2,
                    "--groups 2: expected 3 to 12");
  expect_error_with(analyze("--length 4 --sequences 12"), 2, "--length 4: expected at least 5");
  expect_error_with(analyze("--length 10 --sequences 12 --layers 3"), 2, "--layers");
  expect_error_with(analyze("--length 10 --sequences 99"), 1,
                    "expected 99 sequences of 10 tokens, found");
  EXPECT_FALSE(std::filesystem::exists(path("results")));
  std::filesystem::create_directory(path("results"));
  write("results/mine.txt", "mine");
  expect_error(analyze("--length 10 --sequences 12"), 1,
               path("results").string() + ": is not empty; --force writes into it");
  expect_error(analyze("--length 10 --sequences 12 --resume"), 1,
               path("results").string() + ": is not empty; --force writes into it");
  write("results/incomplete.json", "{\"schema\": \"poslens-incomplete/1\"}");
  expect_error(analyze("--length 10 --sequences 12 --resume"), 1,
               path("results/incomplete.json").string() +
                   ": expected the state of an interrupted analysis (poslens-incomplete/1)");
  write("results/incomplete.json",
        "{\"schema\": \"poslens-incomplete/1\", \"finished\": {\"rope_causal\": {}}}");
  expect_error_with(analyze("--length 10 --sequences 12 --resume"), 1,
                    "results/incomplete.json: finished: rope_causal: is damaged");
  EXPECT_TRUE(fs::exists(path("results/mine.txt")));
}

}  // namespace
}  // namespace poslens
