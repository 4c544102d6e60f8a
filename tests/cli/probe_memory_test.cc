// The memory of a probe grows with neither sequences nor heads.

#include <gtest/gtest.h>

#include <string>

#include "cli/program.h"
#include "support/sanitized.h"
#include "support/tiny_model.h"

namespace poslens {
namespace {

constexpr double kMegabyte = 1e6;

class ProbeMemory : public ProgramTest {
 protected:
  // Documents of 1024 bytes, which are as many tokens.
  void write_documents(int count) const {
    const std::string words = "It was the best of times, it was the worst of times. ";
    std::string lines;
    for (int line = 0; line < count; ++line) {
      std::string text = std::to_string(line) + ' ';
      while (text.size() < 1024) text += words;
      lines += "{\"text\": \"" + text + "\"}\n";
    }
    write("documents.jsonl", lines);
  }

  double peak(const std::string& options, const std::string& model = "tiny.gguf") const {
    const Outcome outcome = run_program(words(
        "probe " + path(model).string() + " --text " + path("documents.jsonl").string() +
        " --length 1024 --threads 2 --force --out " + path("map.npz").string() + ' ' + options));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return static_cast<double>(outcome.peak_memory_bytes);
  }
};

// 8 sequences of 1024 tokens are one chunk. What is kept of one more sequence, its 4 KB of ids,
// comes to 3.2 MB; the residual stream of 792 more alone would take 52 MB.
TEST_F(ProbeMemory, IsTheSameForEightAndEightHundredSequences) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  tiny_model().write(path("tiny.gguf").string());
  write_documents(800);
  for (const std::string options :
       {"--layers 0-1", "--layers 0 --hidden --decode --variance --pool 16"}) {
    const double few = peak(options + " --sequences 8");
    const double many = peak(options + " --sequences 800");
    EXPECT_LT(many - few, 12 * kMegabyte) << options << ": " << few << " and " << many;
  }
}

// The residual stream and the queries are 256 wide in each; what grows is the tiles of scores of a
// group and, with 32 key-value heads, keys and values from 8 to 256 wide (16 MB in a chunk). One
// map more for each head would take 126 MB.
TEST_F(ProbeMemory, DoesNotGrowWithMapsOfHeads) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  tiny_model("gpt-2", 16, 1, 1).write(path("one.gguf").string());
  tiny_model("gpt-2", 16, 32, 1).write(path("group.gguf").string());
  tiny_model("gpt-2", 16, 32, 32).write(path("all.gguf").string());
  write_documents(8);
  const std::string options = "--layers 0-1 --sequences 8 --probs --gram";
  const double one = peak(options, "one.gguf");
  const double group = peak(options, "group.gguf");
  const double all = peak(options, "all.gguf");
  EXPECT_LT(group - one, 40 * kMegabyte) << one << " and " << group;
  EXPECT_LT(all - group, 24 * kMegabyte) << group << " and " << all;
}

// What is planned for holds: a run stays within --memory, and needs most of what it asks for.
TEST_F(ProbeMemory, StaysWithinWhatIsAllowed) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  tiny_model().write(path("tiny.gguf").string());
  write_documents(16);
  const double program = peak("--layers 0 --sequences 1");
  for (const std::string options : {"--gram --hidden --probs", "--per-head --variance",
                                    "--pool 8 --per-head --variance --probs --decode"}) {
    const double taken = peak(options + " --sequences 16 --memory 400MiB") - program;
    EXPECT_LT(taken, 400 * 1.05 * 1.048576 * kMegabyte) << options;
  }
}

}  // namespace
}  // namespace poslens
