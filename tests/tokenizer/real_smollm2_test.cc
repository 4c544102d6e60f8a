// SmolLM2's ids, on its own file: POSLENS_SMOLLM2 names it. The expected ids come from Hugging
// Face's tokenizers.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "poslens/tokenizer.h"

namespace poslens {
namespace {

TEST(RealSmolLm2, IdsAreTheModelsOwn) {
  const char* path = std::getenv("POSLENS_SMOLLM2");
  ASSERT_NE(path, nullptr) << "POSLENS_SMOLLM2 must name SmolLM2's GGUF file";
  const auto checkpoint = Checkpoint::open(path);
  const auto tokenizer = Tokenizer::from_gguf(*checkpoint);
  EXPECT_EQ(tokenizer->pre_tokenizer(), "smollm");
  EXPECT_EQ(tokenizer->vocabulary_size(), 49152);
  EXPECT_FALSE(tokenizer->adds_bos());

  std::ifstream file(POSLENS_TEST_DATA "/real_smollm2_encodings.json");
  const auto cases = nlohmann::json::parse(file);
  ASSERT_EQ(cases.size(), 8u);
  for (const auto& example : cases) {
    const std::string text = example.at("text");
    const std::vector<std::int32_t> expected = example.at("ids");
    EXPECT_EQ(tokenizer->encode(text), expected) << text;
    EXPECT_EQ(tokenizer->decode(expected), text);
  }
}

}  // namespace
}  // namespace poslens
