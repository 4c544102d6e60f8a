// Where the pre-tokenizers that GGUF files name cut texts, against Hugging Face's tokenizers;
// tools/golden/tokenizer_pieces.py made the file.

#include "tokenizer/gguf_pre_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tokenizer/characters.h"
#include "tokenizer/pipeline.h"

namespace poslens {
namespace {

// In bytes, each of which a character stands for.
std::vector<std::size_t> piece_lengths(const GgufPreTokenizer& rules, const std::string& text) {
  Pieces pieces(rules.composes ? to_normal_form(text, NormalForm::nfc) : text, true);
  for (const PreTokenizerStep& step : pre_tokenizer_steps(rules)) step(pieces);
  std::vector<std::size_t> lengths;
  for (std::size_t at = 0; const std::size_t end : pieces.ends) {
    lengths.push_back(0);
    for (; at < end; at += character_at(pieces.text, at).bytes) ++lengths.back();
  }
  return lengths;
}

TEST(GgufPreTokenizer, EveryNameCutsAsItsModelsTokenizer) {
  std::ifstream file(POSLENS_TEST_DATA "/pieces.json");
  const auto golden = nlohmann::json::parse(file);
  const std::vector<std::string> texts = golden.at("texts");
  ASSERT_GE(texts.size(), 140u);
  std::set<std::string> compared;
  for (const auto& pipeline : golden.at("pipelines")) {
    for (const std::string name : pipeline.at("names")) {
      const GgufPreTokenizer* rules = find_gguf_pre_tokenizer(name);
      ASSERT_NE(rules, nullptr) << name;
      for (std::size_t i = 0; i < texts.size(); ++i) {
        EXPECT_EQ(piece_lengths(*rules, texts[i]),
                  pipeline.at("pieces").at(i).get<std::vector<std::size_t>>())
            << name << ", text " << i << ": " << texts[i];
      }
      compared.insert(name);
    }
  }
  const std::string known = known_gguf_pre_tokenizers();
  EXPECT_EQ(compared.size(), std::count(known.begin(), known.end(), ',') + 1) << known;
}

// What llama.cpp does where a file does not say (src/llama-vocab.cpp).
TEST(GgufPreTokenizer, BosAndWholePiecesAreTheDefaultOfSomeKinds) {
  const std::set<std::string> with = {"llama-bpe", "llama3", "llama-v3", "falcon3", "tekken"};
  for (const char* name :
       {"gpt-2",    "gpt2",    "phi-2",  "olmo",      "mpt",       "llama-bpe",        "llama3",
        "llama-v3", "falcon3", "dbrx",   "smaug-bpe", "qwen2",     "deepseek-r1-qwen", "stablelm2",
        "gpt-4o",   "llama4",  "tekken", "smollm",    "starcoder", "refact",           "command-r",
        "falcon",   "bloom"}) {
    EXPECT_EQ(find_gguf_pre_tokenizer(name)->adds_bos, with.contains(name)) << name;
    EXPECT_EQ(find_gguf_pre_tokenizer(name)->prefers_whole, with.contains(name)) << name;
  }
  for (const char* name : {"", "default", "gpt-3", "GPT-2"}) {
    EXPECT_EQ(find_gguf_pre_tokenizer(name), nullptr) << name;
  }
}

}  // namespace
}  // namespace poslens
