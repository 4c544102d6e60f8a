#pragma once
// Cuts text into the pieces within which byte-pair merges happen.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace poslens {

// What a name in tokenizer.ggml.pre stands for.
struct PreTokenizerRules {
  const char* pattern;  // matches one piece at its start; every text is a row of matches
  bool composes;        // the text is brought to normal form NFC first
  bool prefers_whole;   // a piece that is a token stays whole, whatever merges would give
  bool adds_bos;        // llama.cpp's default where the file does not say
};

// nullptr when the name is unknown. Aliases that llama.cpp knows are known here.
const PreTokenizerRules* find_pre_tokenizer(std::string_view name);
// The names, for messages.
std::string known_pre_tokenizers();

// Throws Error, saying at which byte, unless the text is UTF-8.
void require_utf8(std::string_view text);

// Normal form C (Unicode Standard Annex 15) of a UTF-8 text.
std::string compose(std::string_view text);

class PreTokenizer {
 public:
  explicit PreTokenizer(const PreTokenizerRules& rules);
  ~PreTokenizer();

  const PreTokenizerRules& rules() const { return rules_; }

  // Calls visit with each piece, in order; together they are the text, which must be UTF-8.
  void split(std::string_view text, const std::function<void(std::string_view)>& visit) const;

 private:
  struct Code;
  PreTokenizerRules rules_;
  std::unique_ptr<Code> code_;
};

}  // namespace poslens
