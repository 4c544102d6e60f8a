#pragma once
// A tokenizer whose ids can be told by looking at the text.

#include <cctype>
#include <string>

#include "poslens/error.h"
#include "poslens/tokenizer.h"

namespace poslens {

// Every run of letters is one token, its id the sum of its bytes modulo 1000, so that a word cut in
// two shows; every other byte is a token of its own, 1000 + byte.
class FakeTokenizer : public Tokenizer {
 public:
  static constexpr int kVocabulary = 1300;
  static constexpr std::int32_t kBos = 1299;

  explicit FakeTokenizer(bool adds_bos = false, std::optional<std::int32_t> bos = kBos)
      : rule_{.bos = bos, .eos = {}, .adds_bos = adds_bos, .source = "a test"} {}

  std::vector<std::int32_t> encode(std::string_view text,
                                   SpecialTokens = SpecialTokens::recognised) const override {
    bytes_seen += text.size();
    std::vector<std::int32_t> ids;
    bool in_word = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte >= 128) throw Error("byte " + std::to_string(i) + " is no UTF-8");
      const bool letter = std::isalpha(byte) != 0;
      if (!letter) {
        ids.push_back(1000 + byte);
      } else if (in_word) {
        ids.back() = (ids.back() + byte) % 1000;
      } else {
        ids.push_back(byte);
      }
      in_word = letter;
    }
    return ids;
  }
  std::string decode(const std::vector<std::int32_t>&) const override { return {}; }
  std::int64_t vocabulary_size() const override { return kVocabulary; }
  std::string kind() const override { return "fake"; }
  std::string pre_tokenizer() const override { return "fake"; }
  const BosRule& bos_rule() const override { return rule_; }

  mutable std::size_t bytes_seen = 0;

 private:
  BosRule rule_;
};

}  // namespace poslens
