// Ids of 200 lines in many scripts on the files of real models: POSLENS_SMOLLM2 and POSLENS_GEMMA3
// name them. The expected ids come from llama.cpp; tools/golden/llama_cpp_ids.py made them.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "poslens/tokenizer.h"

namespace poslens {
namespace {

using Ids = std::vector<std::int32_t>;

struct Model {
  const char* name;
  const char* variable;
  const char* kind;
  bool adds_bos;
};

class RealMultilingual : public testing::TestWithParam<Model> {};

TEST_P(RealMultilingual, IdsEqualLlamaCpp) {
  const char* path = std::getenv(GetParam().variable);
  ASSERT_NE(path, nullptr) << GetParam().variable << " must name the model's GGUF file";
  const auto tokenizer = Tokenizer::open(*Checkpoint::open(path));
  EXPECT_EQ(tokenizer->kind(), GetParam().kind);
  EXPECT_EQ(tokenizer->adds_bos(), GetParam().adds_bos);

  std::ifstream file(POSLENS_TEST_DATA "/real_multilingual.json");
  const auto golden = nlohmann::json::parse(file);
  const auto& expected = golden.at(GetParam().name);
  const std::vector<std::string> lines = golden.at("lines");
  ASSERT_EQ(lines.size(), 200u);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Ids ids = expected.at("lines").at(i);
    EXPECT_EQ(tokenizer->encode(lines[i]), ids) << "line " << i << ": " << lines[i];
  }
  EXPECT_EQ(tokenizer->encode(golden.at("text").get<std::string>()),
            expected.at("text").get<Ids>());
  const std::vector<std::string> special = golden.at("special");
  for (std::size_t i = 0; i < special.size(); ++i) {
    EXPECT_EQ(tokenizer->encode(special[i]), expected.at("special").at(i).get<Ids>()) << special[i];
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, RealMultilingual,
    testing::Values(Model{"smollm2", "POSLENS_SMOLLM2", "byte-level BPE", false},
                    Model{"gemma3", "POSLENS_GEMMA3", "SentencePiece BPE, byte fallback", true}),
    [](const auto& model) { return std::string(model.param.name); });

}  // namespace
}  // namespace poslens
