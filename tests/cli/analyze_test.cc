#include <gmock/gmock.h>

#include "cli/program.h"
#include "poslens/score_map.h"
#include "support/tiny_model.h"

namespace poslens {
namespace {

using testing::HasSubstr;

class Analyze : public ProgramTest {
 protected:
  Analyze() {
    tiny_model().write(path("tiny.gguf").string());
    write("book.txt",
          "It was the best of times, it was the worst of times, it was the age of wisdom, it was "
          "the age of foolishness, it was the epoch of belief.");
  }
  Outcome analyze(const std::string& options) const {
    std::vector<std::string> arguments = {"analyze", path("tiny.gguf").string(),
                                          "--text",  path("book.txt").string(),
                                          "--out",   path("results").string()};
    for (const std::string& word : words(options)) arguments.push_back(word);
    return run_program(arguments);
  }
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
}

}  // namespace
}  // namespace poslens
