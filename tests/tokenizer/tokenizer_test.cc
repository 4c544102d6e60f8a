#include "poslens/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "poslens/error.h"
#include "support/gguf_writer.h"
#include "tokenizer/gguf_file.h"

namespace poslens {
namespace {

using test::message;
using test::open;
using testing::HasSubstr;

std::unique_ptr<Tokenizer> open_fixture(const std::string& name) {
  const auto checkpoint = Checkpoint::open(POSLENS_TEST_DATA "/" + name + ".gguf");
  return Tokenizer::from_gguf(*checkpoint);
}

std::string hexadecimal(const std::string& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string result;
  for (const char character : bytes) {
    const auto byte = static_cast<unsigned char>(character);
    result += kDigits[byte >> 4];
    result += kDigits[byte & 15];
  }
  return result;
}

// tools/golden/tokenizer_fixtures.py made it with Hugging Face's tokenizers.
nlohmann::json read_golden() {
  std::ifstream file(POSLENS_TEST_DATA "/encodings.json");
  return nlohmann::json::parse(file);
}

class Encodings : public testing::TestWithParam<const char*> {};

TEST_P(Encodings, EqualHuggingFace) {
  const auto golden = read_golden();
  const auto& expected = golden.at("tokenizers").at(GetParam());
  const std::vector<std::string> texts = golden.at("texts");
  ASSERT_GE(texts.size(), 50u);
  const auto tokenizer = open_fixture(GetParam());
  EXPECT_EQ(tokenizer->pre_tokenizer(), GetParam());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::vector<std::int32_t> ids = expected.at("ids").at(i);
    EXPECT_EQ(tokenizer->encode(texts[i], SpecialTokens::as_text), ids)
        << "text " << i << ": " << texts[i];
    EXPECT_EQ(hexadecimal(tokenizer->decode(ids)), expected.at("decoded").at(i)) << texts[i];
  }
}

TEST_P(Encodings, ControlTokensAreRecognisedUnlessTheyAreText) {
  const auto tokenizer = open_fixture(GetParam());
  std::vector<std::int32_t> ids = tokenizer->encode("the fox");
  ids.push_back(tokenizer->bos().value());
  const std::vector<std::int32_t> behind = tokenizer->encode(" jumps");
  ids.insert(ids.end(), behind.begin(), behind.end());
  EXPECT_EQ(tokenizer->encode("the fox<|endoftext|> jumps"), ids);
  EXPECT_THAT(tokenizer->encode("the fox<|endoftext|> jumps", SpecialTokens::as_text),
              testing::Not(testing::Contains(tokenizer->bos().value())));
}

INSTANTIATE_TEST_SUITE_P(PreTokenizers, Encodings,
                         testing::Values("smollm", "gpt-2", "llama-bpe", "qwen2"));

// A vocabulary of all bytes, then "ab", "abb", "abab" and a BOS token.
GgufWriter tiny_vocabulary(const std::string& pre = "gpt-2") {
  std::vector<std::string> tokens;
  int next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool itself = (byte >= 33 && byte < 127) || (byte >= 161 && byte != 173);
    const int character = itself ? byte : next++;
    tokens.push_back(character < 128 ? std::string{static_cast<char>(character)}
                                     : std::string{static_cast<char>(0xc0 | character >> 6),
                                                   static_cast<char>(0x80 | (character & 63))});
  }
  tokens.insert(tokens.end(), {"ab", "abb", "abab", "<bos>"});
  GgufWriter writer;
  writer.text("tokenizer.ggml.model", "gpt2");
  writer.text("tokenizer.ggml.pre", pre);
  writer.texts("tokenizer.ggml.tokens", tokens);
  writer.integer("tokenizer.ggml.bos_token_id", 259);
  return writer;
}

std::vector<std::string> merges() { return {"a b", "ab b", "ab ab"}; }

TEST(TokenizerFile, MergesOfLowRankComeFirst) {
  GgufWriter writer = tiny_vocabulary();
  writer.texts("tokenizer.ggml.merges", merges());
  const auto tokenizer = open(writer);
  EXPECT_EQ(tokenizer->encode("abab"), (std::vector<std::int32_t>{258}));
  EXPECT_EQ(tokenizer->encode("abbab"), (std::vector<std::int32_t>{257, 256}));
  EXPECT_EQ(tokenizer->encode("ababb"), (std::vector<std::int32_t>{256, 257}));
  EXPECT_EQ(tokenizer->encode("ababab"), (std::vector<std::int32_t>{258, 256}));
  EXPECT_EQ(tokenizer->decode({258, 257, 'a'}), "abababba");
  EXPECT_THROW(tokenizer->decode({260}), Error);
  EXPECT_THROW(tokenizer->decode({-1}), Error);
}

TEST(TokenizerFile, TextThatIsNotUtf8IsRefusedWithTheByte) {
  GgufWriter writer = tiny_vocabulary("qwen2");
  writer.texts("tokenizer.ggml.merges", merges());
  const auto tokenizer = open(writer);
  // Stray continuation, overlong, surrogate, beyond U+10FFFF, cut off.
  for (const std::string bad :
       {"\x80", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe3\x81"}) {
    try {
      tokenizer->encode("déjà " + bad);
      ADD_FAILURE() << hexadecimal(bad);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("at byte 7")) << hexadecimal(bad);
    }
  }
}

// A run of one million letters; a merge loop that scanned it for every merge would take hours.
TEST(TokenizerFile, LongRunsTakeNoLongerThanTheyMust) {
  constexpr std::size_t kLength = 1 << 20;
  for (const char* pre :
       {"smollm", "gpt-2", "llama-bpe", "qwen2", "gpt-4o", "tekken", "falcon", "bloom"}) {
    GgufWriter writer = tiny_vocabulary(pre);
    writer.texts("tokenizer.ggml.merges", merges());
    const auto tokenizer = open(writer);
    std::string letters;
    while (letters.size() < kLength) letters += "ab";
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(tokenizer->encode(letters).size(), kLength / 4);
    EXPECT_EQ(tokenizer->encode(std::string(kLength, ' ')).size(), kLength);
    EXPECT_EQ(tokenizer->encode(std::string(kLength, ' ') + "x").size(), kLength + 1);
    EXPECT_EQ(tokenizer->encode(std::string(kLength, '!')).size(), kLength);
    EXPECT_EQ(tokenizer->encode(std::string(kLength, '\n')).size(), kLength);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60)) << pre;
  }
}

TEST(TokenizerFile, BosFollowsTheFileAndElseThePreTokenizer) {
  for (const char* pre : {"smollm", "gpt-2", "gpt2", "qwen2", "llama-bpe", "llama3", "llama-v3"}) {
    GgufWriter writer = tiny_vocabulary(pre);
    writer.texts("tokenizer.ggml.merges", merges());
    EXPECT_EQ(open(writer)->adds_bos(), std::string(pre).starts_with("llama")) << pre;
    EXPECT_EQ(open(writer)->bos(), 259) << pre;
    for (const bool said : {false, true}) {
      GgufWriter saying = writer;
      saying.boolean("tokenizer.ggml.add_bos_token", said);
      EXPECT_EQ(open(saying)->adds_bos(), said) << pre;
    }
  }
}

TEST(TokenizerFile, UnknownConventionsAreRefused) {
  EXPECT_THAT(message(tiny_vocabulary("gpt-3")),
              testing::AllOf(HasSubstr("'tokenizer.ggml.pre'"), HasSubstr("found 'gpt-3'"),
                             HasSubstr("gpt-2, "), HasSubstr(", tekken, "),
                             HasSubstr(", bloom, found"), HasSubstr("token ids can")));
  GgufWriter nameless;
  nameless.text("tokenizer.ggml.model", "gpt2");
  EXPECT_THAT(message(nameless), HasSubstr("'tokenizer.ggml.pre': expected one of"));
  EXPECT_THAT(message(nameless), HasSubstr("found no such key"));
  GgufWriter word_piece;
  word_piece.text("tokenizer.ggml.model", "bert");
  EXPECT_THAT(message(word_piece), HasSubstr("or 'llama' (SentencePiece), found 'bert'"));
  EXPECT_THAT(message(GgufWriter()), HasSubstr("'tokenizer.ggml.model'"));
}

TEST(TokenizerFile, DamagedVocabulariesAreRefused) {
  const GgufWriter plain = tiny_vocabulary();
  EXPECT_THAT(message(plain), HasSubstr("'tokenizer.ggml.merges'"));

  for (const char* merge : {"a", "a ", " b", "", "a q", "a Ā", "zz b", "a b"}) {
    GgufWriter writer = plain;
    writer.texts("tokenizer.ggml.merges", {"a b", merge});
    EXPECT_THAT(message(writer), HasSubstr("merge 1, '" + std::string(merge))) << merge;
  }
  const auto with_tokens = [](const std::vector<std::string>& tokens,
                              const std::vector<std::int32_t>& types, std::uint32_t bos) {
    GgufWriter writer;
    writer.text("tokenizer.ggml.model", "gpt2");
    writer.text("tokenizer.ggml.pre", "gpt-2");
    writer.texts("tokenizer.ggml.tokens", tokens);
    writer.texts("tokenizer.ggml.merges", {});
    writer.integers("tokenizer.ggml.token_type", types);
    writer.integer("tokenizer.ggml.bos_token_id", bos);
    return writer;
  };
  EXPECT_EQ(message(with_tokens({"a", "b"}, {1, 3}, 1)), "no error");
  EXPECT_THAT(message(with_tokens({}, {}, 0)), HasSubstr("'tokenizer.ggml.tokens'"));
  EXPECT_THAT(message(with_tokens({"a", "b"}, {1}, 0)), HasSubstr("expected 2 types"));
  EXPECT_THAT(message(with_tokens({"a", "b"}, {1, 1}, 2)), HasSubstr("an id below 2, found 2"));
  EXPECT_THAT(message(with_tokens({"a", "b", "a"}, {1, 1, 1}, 0)), HasSubstr("tokens 0 and 2"));
  EXPECT_EQ(message(with_tokens({"a", "b", "a"}, {1, 1, 3}, 0)), "no error");

  GgufWriter without_bos;
  without_bos.text("tokenizer.ggml.model", "gpt2");
  without_bos.text("tokenizer.ggml.pre", "llama-bpe");
  without_bos.texts("tokenizer.ggml.tokens", {"a"});
  without_bos.texts("tokenizer.ggml.merges", {});
  EXPECT_THAT(message(without_bos), HasSubstr("'tokenizer.ggml.bos_token_id'"));
}

}  // namespace
}  // namespace poslens
