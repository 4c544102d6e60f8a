// What every verb has in common, and `theory`, the simplest.

#include <gmock/gmock.h>

#include "cli/program.h"
#include "poslens/score_map.h"
#include "poslens/version.h"

namespace poslens {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Usage : public ProgramTest {};

TEST_F(Usage, Help) {
  const Outcome outcome = run_program({"--help"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("Usage: poslens"));
  EXPECT_EQ(run_program({"--version"}).out, std::string("poslens ") + kVersion + "\n");
}

// Every verb in the help of the program has a help of its own, with an example.
TEST_F(Usage, EveryVerbShowsAnExample) {
  const std::string help = run_program({"--help"}).out;
  std::istringstream lines(help.substr(help.find("Subcommands:")));
  std::string line;
  std::getline(lines, line);
  int verbs = 0;
  while (std::getline(lines, line)) {
    if (line.size() < 3 || line[2] == ' ') continue;  // a description that goes on
    const std::string verb = words(line).front();
    const Outcome outcome = run_program({verb, "--help"});
    EXPECT_EQ(outcome.code, 0) << verb;
    EXPECT_THAT(outcome.out, HasSubstr("Example:\n  poslens " + verb)) << verb;
    expect_error_with(run_program({verb, "--no-such-option"}), 2, "--no-such-option");
    ++verbs;
  }
  EXPECT_GE(verbs, 4);
}

TEST_F(Usage, Verbs) {
  expect_error_with(run_program({}), 2, "expected a verb, one of analyze");
  expect_error_with(run_program({"dream"}), 2, "dream: expected one of analyze");
  expect_error_with(run_program({"--dream"}), 2, "--dream: expected one of analyze");
}

TEST_F(Usage, BadOptionsAreNamedWithWhatIsAllowed) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--bogus 3", "--bogus: not expected after theory; options are --help --n --dim"},
      {"stray", "stray: not expected after theory"},
      {"--n 0", "--n 0: expected 1 to"},
      {"--n many", "--n many: expected an integer"},
      {"--n 5.5", "--n 5.5: expected an integer"},
      {"--alpha 1", "--alpha 1: expected 0 <= alpha < 1"},
      {"--alpha x", "--alpha x: expected a number"},
      {"--norm max", "--norm max: expected one of l2, layernorm, rmsnorm, none"},
      {"--mask window:0", "window:0"},
      {"--rope -1", "--rope -1: expected none or a positive number"},
      {"--mask causal@0,full@0-2", "--mask causal@0,full@0-2: expected one mask a layer"},
      {"--mask causal,full", "--mask causal,full: expected one mask without @LAYERS"},
      {"--mask full@4", "expected layers below 4, as --layers says"},
      {"--mask full@", "expected a list of layers"},
      {"--residual-weight -1", "--residual-weight -1: expected 0 to 1000"},
      {"--residual-weight 2 --no-residual", "--residual-weight"},
      {"--rotary-dim 8", "--rotary-dim 8: expected --rope THETA too"},
      {"--rope 1e4 --rotary-dim 7", "--rotary-dim 7: expected an even number up to --dim 64"},
      {"--rope-scaling yarn:4:32768", "--rope-scaling yarn:4:32768: expected --rope THETA too"},
      {"--rope 1e4 --rope-scaling yarn:4", "--rope-scaling yarn:4: expected none, linear:F"},
      {"--rope 1e4 --rotary-dim 2 --rope-scaling ntk:2", "more than 2 coordinates"},
      {"--alibi 0", "--alibi 0: expected a slope above 0"},
      {"--alibi head:8/8", "--alibi head:8/8: expected head:H/N with 0 <= H < N"},
      {"--alibi 0.5 --closed-form", "--alibi 0.5: the closed form"},
      {"--threads 0", "--threads 0: expected 1 to 1024"},
  };
  for (const auto& [options, message] : cases) {
    std::vector<std::string> arguments = words("theory " + options);
    arguments.insert(arguments.end(), {"--out", path("map.npz").string()});
    expect_error_with(run_program(arguments), 2, message);
  }
  expect_error(run_program({"theory"}), 2, "--out is required");
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(Usage, TheoryWritesAnArtefactOnce) {
  const std::string out = path("map.npz").string();
  const std::vector<std::string> arguments = {"theory", "--n", "5", "--layers", "2", "--out", out};
  Outcome outcome = run_program(arguments);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const ScoreMap map = load_score_map(out);
  EXPECT_EQ(map.source, Source::theory);
  EXPECT_EQ(map.n, 5);
  EXPECT_THAT(map.layers, ElementsAre(0, 1));
  EXPECT_EQ(map.provenance.command_line, "poslens theory --n 5 --layers 2 --out " + out);

  expect_error(run_program(arguments), 1, out + ": exists already; --force replaces it");
  std::vector<std::string> forced = arguments;
  forced[2] = "6";
  forced.emplace_back("--force");
  EXPECT_EQ(run_program(forced).code, 0);
  EXPECT_EQ(load_score_map(out).n, 6);
  EXPECT_THAT(files(), ElementsAre("map.npz"));
}

// The options that a map names are those that make it again.
TEST_F(Usage, OptionsOfMasksAndPositionsRoundTrip) {
  const std::string first = path("first.npz").string(), second = path("second.npz").string();
  const Outcome outcome = run_program(
      words("theory --n 7 --layers 5 --mask strided:2@0,3-4,window:3 --residual-weight 0.5 --rope "
            "100 --rotary-dim 8 --rope-scaling llama3:8:16 --alibi head:1/2 --out " +
            first));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const ScoreMap map = load_score_map(first);
  EXPECT_EQ(map.stage, Stage::biased);
  using testing::Contains;
  using testing::Pair;
  const auto& options = map.provenance.options;
  EXPECT_THAT(options, Contains(Pair("mask", "window:3,strided:2@0,strided:2@3-4")));
  EXPECT_THAT(options, Contains(Pair("alibi", "0.00390625")));  // 2^-8
  std::vector<std::string> arguments = {"theory", "--out", second};
  for (const auto& [name, value] : options) {
    arguments.push_back(std::string("--").append(name).append("=").append(value));
  }
  const Outcome again = run_program(arguments);
  ASSERT_EQ(again.code, 0) << again.err;
  const ScoreMap twin = load_score_map(second);
  EXPECT_EQ(twin.provenance.options, options);
  EXPECT_EQ(twin.count, map.count);
  EXPECT_EQ(twin.layer(4)(6, 4), map.layer(4)(6, 4));
}

TEST_F(Usage, OutputThatCannotBe) {
  const std::string out = path("missing/map.npz").string();
  expect_error(run_program({"theory", "--out", out}), 1,
               out + ": its folder " + path("missing").string() + " does not exist");
  expect_error_with(run_program({"theory", "--out", path("").string(), "--force"}), 1,
                    "expected a file, found a folder");
}

TEST_F(Usage, SimulateWritesAnArtefact) {
  const std::string out = path("map.npz").string();
  const Outcome outcome = run_program(
      words("simulate --n 6 --dim 16 --layers 2 --samples 50 --seed 3 --quiet --out " + out));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const ScoreMap map = load_score_map(out);
  EXPECT_EQ(map.source, Source::simulation);
  EXPECT_THAT(map.layers, ElementsAre(0, 1));
  EXPECT_EQ(map.count[0], 50);
  EXPECT_EQ(map.provenance.seed, 3);
  // The first layer's diagonal is |x|^2 of unit inputs.
  EXPECT_NEAR(map.layer(0)(2, 2), 1, 1e-6);
}

}  // namespace
}  // namespace poslens
