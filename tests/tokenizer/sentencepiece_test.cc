// GGUF's SentencePiece tokenizers against the ids of SentencePiece itself;
// tools/golden/tokenizer_sentencepiece.py made the files.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "poslens/error.h"
#include "poslens/tokenizer.h"
#include "support/gguf_writer.h"
#include "tokenizer/gguf_file.h"

namespace poslens {
namespace {

using Ids = std::vector<std::int32_t>;
using test::message;
using test::open;
using testing::HasSubstr;

class SentencePiece : public testing::TestWithParam<const char*> {
 protected:
  SentencePiece()
      : checkpoint_(Checkpoint::open(fmt::format("{}/{}.gguf", POSLENS_TEST_DATA, GetParam()))),
        tokenizer_(Tokenizer::open(*checkpoint_)) {}

  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_P(SentencePiece, IdsEqualSentencePiece) {
  std::ifstream file(POSLENS_TEST_DATA "/sentencepiece.json");
  const auto golden = nlohmann::json::parse(file);
  const std::vector<std::string> texts = golden.at("texts");
  ASSERT_GE(texts.size(), 170u);
  const auto& expected = golden.at(GetParam());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Ids ids = expected.at("ids").at(i);
    EXPECT_EQ(tokenizer_->encode(texts[i], SpecialTokens::as_text), ids)
        << "text " << i << ": " << texts[i];
  }
  EXPECT_EQ(tokenizer_->bos(), expected.at("bos").get<std::int32_t>());
  EXPECT_TRUE(tokenizer_->adds_bos());
}

TEST_P(SentencePiece, TextComesBackBehindTheSpaceThatWasPut) {
  const std::string text = "  The fox's 123\n\n\t日本 <tool> 🙂";
  const bool put = std::string(GetParam()) == "llama-sp";
  EXPECT_EQ(tokenizer_->decode(tokenizer_->encode(text)),
            fmt::format("{}{}", put ? " " : "", text));
}

TEST_P(SentencePiece, SpecialTokensThatAreSpelledOutAreTextIfAskedFor) {
  const Ids plain = tokenizer_->encode("<s>x<unk>", SpecialTokens::as_text);
  EXPECT_THAT(plain, testing::Not(testing::Contains(tokenizer_->bos())));
  EXPECT_THAT(plain, testing::Not(testing::Contains(0)));
  const Ids recognised = tokenizer_->encode("<s>x<unk>");
  EXPECT_EQ(recognised.front(), tokenizer_->bos());
  EXPECT_EQ(recognised.back(), 0);
}

TEST_P(SentencePiece, LongWordsTakeNoLongerThanTheyMust) {
  std::string word;
  while (word.size() < 1 << 20) word += "thequickbrownfox";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_GT(tokenizer_->encode(word).size(), word.size() / 16);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

INSTANTIATE_TEST_SUITE_P(Models, SentencePiece, testing::Values("llama-sp", "gemma-sp"));

// Bytes, then "▁", "a", "b", "ab" and "ba".
// The scores are those of the last tokens; the others have 0, and `without` of them none at all.
GgufWriter tiny(const std::vector<float>& scores, std::size_t bytes = 256,
                std::size_t without = 0) {
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
  std::vector<std::int32_t> types = {2, 3, 3};
  for (std::size_t byte = 0; byte < bytes; ++byte) {
    tokens.push_back(fmt::format("<0x{:02X}>", byte));
    types.push_back(6);
  }
  for (const char* token : {"▁", "a", "b", "ab", "ba"}) {
    tokens.emplace_back(token);
    types.push_back(1);
  }
  std::vector<float> all(tokens.size() - scores.size() - without);
  all.insert(all.end(), scores.begin(), scores.end());
  GgufWriter writer;
  writer.text("tokenizer.ggml.model", "llama");
  writer.texts("tokenizer.ggml.tokens", tokens);
  writer.integers("tokenizer.ggml.token_type", types);
  std::string list = GgufWriter::raw(std::uint32_t{6}) + GgufWriter::raw(std::uint64_t{all.size()});
  for (const float score : all) list += GgufWriter::raw(score);
  writer.entry("tokenizer.ggml.scores", 9, list);
  return writer;
}

TEST(SentencePieceScores, TheHighestMergesFirstThenTheLeftmost) {
  constexpr std::int32_t kSpace = 259;
  constexpr std::int32_t kA = 260;
  constexpr std::int32_t kAb = 262;
  constexpr std::int32_t kBa = 263;
  EXPECT_EQ(open(tiny({-1, -1, -1, -2, -3}))->encode("aba"), (Ids{kSpace, kAb, kA}));
  EXPECT_EQ(open(tiny({-1, -1, -1, -3, -2}))->encode("aba"), (Ids{kSpace, kA, kBa}));
  EXPECT_EQ(open(tiny({-1, -1, -1, -2, -2}))->encode("aba"), (Ids{kSpace, kAb, kA}));
}

TEST(SentencePieceScores, DamageIsRefused) {
  EXPECT_THAT(message(tiny({0, 0, 0, 0, 0}, 255)), HasSubstr("none for 0xff"));
  EXPECT_THAT(message(tiny({0, std::nanf("")})), HasSubstr("NaN"));
  EXPECT_THAT(message(tiny({}, 256, 1)),
              HasSubstr("expected 264 scores, one per token, found 263"));
  GgufWriter unscored;
  unscored.text("tokenizer.ggml.model", "llama");
  unscored.texts("tokenizer.ggml.tokens", {"a"});
  EXPECT_THAT(message(unscored), HasSubstr("'tokenizer.ggml.scores'"));
  EXPECT_EQ(message(tiny({})), "no error");
}

}  // namespace
}  // namespace poslens
