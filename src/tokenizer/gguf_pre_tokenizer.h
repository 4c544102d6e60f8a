#pragma once
// What a name in tokenizer.ggml.pre stands for.

#include <array>
#include <string>
#include <string_view>

namespace poslens {

struct GgufPreTokenizer {
  // Each isolates its matches within the pieces that those in front of it made; unused ones are "".
  std::array<std::string_view, 3> patterns;
  bool composes;       // the text is brought to normal form NFC first
  bool prefers_whole;  // a piece that is a token stays whole, whatever merges would give
  bool adds_bos;       // llama.cpp's default where the file does not say
};

// nullptr when the name is unknown. Aliases that llama.cpp knows are known here.
const GgufPreTokenizer* find_gguf_pre_tokenizer(std::string_view name);
// The names, for messages.
std::string known_gguf_pre_tokenizers();

}  // namespace poslens
