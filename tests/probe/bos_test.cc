// The BOS policy with every kind of tokenizer: what a sequence starts with, and that no second BOS
// is added to a text that spells one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "poslens/corpus.h"
#include "support/temporary_folder.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<std::int32_t>;

constexpr const char* kText =
    "The quick brown fox jumps over the lazy dog; 1984 vixens, zebras and yaks mind it.";

struct Kind {
  const char* file;  // beside the tokenizer's tests: GGUF, or tokenizer.json
  const char* bos;   // how a text spells it
  bool adds_bos;
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.file; }

class BosPolicies : public testing::TestWithParam<Kind> {
 protected:
  BosPolicies() {
    const fs::path path = fs::path(POSLENS_SOURCE) / "tests/tokenizer" / GetParam().file;
    if (path.extension() == ".gguf") {
      tokenizer_ = Tokenizer::open(*Checkpoint::open(path));
    } else {
      std::ifstream file(path, std::ios::binary);
      const std::string json{std::istreambuf_iterator<char>(file), {}};
      const std::string config = std::string(R"({"bos_token": ")") + GetParam().bos + "\"}";
      tokenizer_ = Tokenizer::from_json(json, config, path.string());
    }
  }

  // The rows of the sequences that come out.
  std::vector<Ids> read(const std::string& text, BosPolicy policy) {
    CorpusOptions options;
    options.text = folder_.path() / "text.txt";
    std::ofstream(options.text, std::ios::binary) << text;
    options.length = 6;
    options.sequences = 3;
    options.bos = policy;
    const auto vocabulary = static_cast<int>(tokenizer_->vocabulary_size());
    const Corpus corpus = read_corpus(options, tokenizer_.get(), vocabulary);
    std::vector<Ids> rows;
    for (auto id = corpus.batch.ids.begin(); id != corpus.batch.ids.end(); id += 6) {
      rows.emplace_back(id, id + 6);
    }
    return rows;
  }
  // Rows of a text's own ids behind what is put in front.
  static std::vector<Ids> rows(const Ids& ids, const Ids& front) {
    std::vector<Ids> result(3, front);
    auto id = ids.begin();
    for (Ids& row : result) {
      while (row.size() < 6) row.push_back(*id++);
    }
    return result;
  }

  TemporaryFolder folder_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_P(BosPolicies, EverySequenceStartsWithOneBosOrNone) {
  const std::int32_t bos = tokenizer_->bos().value();
  EXPECT_EQ(tokenizer_->adds_bos(), GetParam().adds_bos);
  const Ids plain = tokenizer_->encode(kText);
  ASSERT_THAT(plain, testing::Not(testing::Contains(bos)));
  const std::string spelled = std::string(GetParam().bos) + kText;
  Ids with_bos = {bos};
  with_bos.insert(with_bos.end(), plain.begin(), plain.end());
  ASSERT_EQ(tokenizer_->encode(spelled), with_bos);

  const std::vector<Ids> none = rows(plain, {});
  const std::vector<Ids> one = rows(plain, {bos});
  for (const std::string& text : {std::string(kText), spelled}) {
    EXPECT_EQ(read(text, BosPolicy::none), none) << text;
    EXPECT_EQ(read(text, BosPolicy::force), one) << text;
  }
  EXPECT_EQ(read(kText, BosPolicy::file), GetParam().adds_bos ? one : none);
  EXPECT_EQ(read(spelled, BosPolicy::file), GetParam().adds_bos ? one : rows(with_bos, {}));
}

// Byte-level BPE and SentencePiece's, from GGUF and from tokenizer.json, with and without a
// template that adds BOS.
INSTANTIATE_TEST_SUITE_P(
    Kinds, BosPolicies,
    testing::Values(
        Kind{"gpt-2.gguf", "<|endoftext|>", false}, Kind{"smollm.gguf", "<|endoftext|>", false},
        Kind{"qwen2.gguf", "<|endoftext|>", false}, Kind{"llama-bpe.gguf", "<|endoftext|>", true},
        Kind{"llama-sp.gguf", "<s>", true}, Kind{"gemma-sp.gguf", "<s>", true},
        Kind{"json/gpt2.json", "<|endoftext|>", false},
        Kind{"json/llama3.json", "<|begin_of_text|>", true}, Kind{"json/llama2.json", "<s>", true},
        Kind{"json/gemma.json", "<bos>", true}, Kind{"json/cohere.json", "<BOS_TOKEN>", true},
        Kind{"json/bloom.json", "<s>", false}),
    [](const auto& kind) {
      std::string name = kind.param.file;
      std::replace_if(
          name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
      return name;
    });

}  // namespace
}  // namespace poslens
