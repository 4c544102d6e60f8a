// tokenizer.json against the ids of Hugging Face's tokenizers; tools/golden/tokenizer_json.py made
// the files.

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "poslens/tokenizer.h"

namespace poslens {
namespace {

using Ids = std::vector<std::int32_t>;

std::string read(const std::string& name) {
  std::ifstream file(POSLENS_TEST_DATA "/json/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::unique_ptr<Tokenizer> open(const std::string& name) {
  return Tokenizer::from_json(read(name + ".json"), "", name + ".json");
}

std::vector<std::string> texts() {
  const auto json = nlohmann::json::parse(read("texts.json"));
  std::vector<std::string> all = json.at("texts");
  const std::vector<std::string> random = json.at("random");
  all.insert(all.end(), random.begin(), random.end());
  return all;
}

class JsonTokenizer : public testing::TestWithParam<const char*> {};

TEST_P(JsonTokenizer, IdsEqualHuggingFace) {
  const auto golden = nlohmann::json::parse(read(std::string(GetParam()) + ".ids.json"));
  const auto tokenizer = open(GetParam());
  const std::vector<std::string> all = texts();
  ASSERT_GE(all.size(), 250u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Ids expected = golden.at("recognised").at(i);
    EXPECT_EQ(tokenizer->encode(all[i]), expected) << "text " << i << ": " << all[i];
    const auto& differs = golden.at("as_text");
    const auto other = differs.find(std::to_string(i));
    EXPECT_EQ(tokenizer->encode(all[i], SpecialTokens::as_text),
              other == differs.end() ? expected : other->get<Ids>())
        << "text " << i << ": " << all[i];
  }
}

TEST_P(JsonTokenizer, TokensAroundTheTextAreThePostProcessors) {
  const auto golden = nlohmann::json::parse(read(std::string(GetParam()) + ".ids.json"));
  const auto tokenizer = open(GetParam());
  const BosRule& rule = tokenizer->bos_rule();
  EXPECT_EQ(rule.adds_bos ? Ids{rule.bos.value()} : Ids{}, golden.at("front").get<Ids>());
  EXPECT_EQ(rule.adds_eos ? Ids{rule.eos.value()} : Ids{}, golden.at("behind").get<Ids>());
  EXPECT_EQ(rule.source, "tokenizer.json, post_processor");
}

// What needs no normal form comes back, but for the space that some put in front.
class LosslessJsonTokenizer : public JsonTokenizer {};

TEST_P(LosslessJsonTokenizer, AsciiComesBack) {
  const std::string name = GetParam();
  const std::string text = "The fox's 12345 jumps,\n\n  over  <tags> \t{x}.";
  const auto tokenizer = open(name);
  const std::string decoded = tokenizer->decode(tokenizer->encode(text));
  const bool put = decoded.starts_with(' ');
  EXPECT_EQ(decoded.substr(put ? 1 : 0), text);
  EXPECT_EQ(put, name == "gpt2_prefix" || name == "llama2" || name == "llama2_metaspace" ||
                     name == "metaspace_split");
}

// A million letters without a space: a merge loop that scanned them for every merge would take
// hours, and one id must not depend on how far away the end is.
TEST_P(JsonTokenizer, LongWordsTakeNoLongerThanTheyMust) {
  const std::string name = GetParam();
  const auto tokenizer = open(name);
  std::string word;
  while (word.size() < 1 << 20) word += "thequickbrownfox";
  const auto start = std::chrono::steady_clock::now();
  const Ids ids = tokenizer->encode(word);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
  const Ids short_ids = tokenizer->encode(word.substr(0, 1 << 10));
  ASSERT_GT(short_ids.size(), 64u);
  EXPECT_TRUE(std::equal(short_ids.begin(), short_ids.begin() + 64, ids.begin()));
  EXPECT_NEAR(static_cast<double>(ids.size()), 1024.0 * static_cast<double>(short_ids.size()),
              0.02 * static_cast<double>(ids.size()));
}

constexpr const char* kLossless[] = {
    "gpt2",     "gpt2_prefix", "gpt_neox",         "llama3",
    "qwen2",    "phi2",        "starcoder2",       "falcon",
    "bloom",    "cohere",      "llama2_metaspace", "metaspace_split",
    "gemma",    "gpt4o",       "llama2",           "classes",
    "previous", "next",        "contiguous"};
constexpr const char* kLossy[] = {"unknown", "unknown_apart", "removed"};
const auto name_of = [](const auto& family) { return std::string(family.param); };

INSTANTIATE_TEST_SUITE_P(Families, LosslessJsonTokenizer, testing::ValuesIn(kLossless), name_of);
INSTANTIATE_TEST_SUITE_P(Families, JsonTokenizer, testing::ValuesIn(kLossless), name_of);
INSTANTIATE_TEST_SUITE_P(LossyFamilies, JsonTokenizer, testing::ValuesIn(kLossy), name_of);

}  // namespace
}  // namespace poslens
