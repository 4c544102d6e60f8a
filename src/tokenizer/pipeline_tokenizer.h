#pragma once
// What every kind of tokenizer is made of: added tokens, normalizer, pre-tokenizer, piece encoder.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poslens/tokenizer.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/piece_encoder.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/vocabulary.h"

namespace poslens {

struct TokenizerParts {
  explicit TokenizerParts(Vocabulary all) : vocabulary(std::move(all)) {}

  std::string kind{};
  std::string pre_tokenizer{};
  Vocabulary vocabulary;  // all tokens; those that pieces may become are indexed
  AddedTokens raw{};      // looked for in the text as it is
  std::vector<NormalizerStep> normalizer{};
  AddedTokens normalized{};  // looked for in the normalised text
  std::vector<PreTokenizerStep> pre_tokenizer_steps{};
  std::unique_ptr<PieceEncoder> encoder{};                    // of this vocabulary
  std::vector<bool> is_added{};                               // by id: decodes to its text as it is
  std::string (*bytes_of)(std::string_view token) = nullptr;  // what any other token decodes to
  BosRule bos_rule{};
};

// The parts must stay where they are, for the encoder refers to the vocabulary.
std::unique_ptr<Tokenizer> make_tokenizer(std::unique_ptr<TokenizerParts> parts);

// Values of bytes_of: each character a byte; "▁" a space and "<0x41>" a byte; as it is.
std::string byte_level_bytes(std::string_view token);
std::string sentence_piece_bytes(std::string_view token);
std::string plain_bytes(std::string_view token);

}  // namespace poslens
