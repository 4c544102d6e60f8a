#pragma once
// What a name in tokenizer.ggml.pre stands for.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/pipeline.h"

namespace poslens {

struct GgufPreTokenizer {
  // Each isolates its matches within the pieces that those in front of it made; unused ones are "".
  std::array<std::string_view, 2> patterns;
  // The same once every byte is written as the character that stands for it.
  std::array<std::string_view, 2> byte_patterns;
  // The text is brought to normal form NFC first: the model's own tokenizer does that, llama.cpp
  // not.
  bool composes;
  bool prefers_whole;  // a piece that is a token stays whole, whatever merges would give
  bool adds_bos;       // llama.cpp's default where the file does not say
};

std::vector<PreTokenizerStep> pre_tokenizer_steps(const GgufPreTokenizer& rules);

// nullptr when the name is unknown. Aliases that llama.cpp knows are known here.
const GgufPreTokenizer* find_gguf_pre_tokenizer(std::string_view name);
// The names, for messages.
std::string known_gguf_pre_tokenizers();

}  // namespace poslens
