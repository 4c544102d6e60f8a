#pragma once
// Ids of a piece: the last stage of a tokenizer.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tokenizer/bpe.h"
#include "tokenizer/vocabulary.h"

namespace poslens {

class PieceEncoder {
 public:
  virtual ~PieceEncoder() = default;
  // Appends the ids of a piece, which is not empty.
  virtual void encode(std::string_view piece, std::vector<std::int32_t>& ids) const = 0;
};

// The tokens "<0x00>" to "<0xFF>"; kNoToken where there is none.
std::array<std::int32_t, 256> byte_tokens(const Vocabulary& vocabulary);

// Merges by rank, as tokenizer.json's model "BPE" has them.
class RankEncoder : public PieceEncoder {
 public:
  struct Options {
    bool byte_fallback = false;   // a character that is no token is written as its bytes' tokens
    bool fuse_unknown = false;    // neighbours that are unknown become one token
    bool prefers_whole = false;   // a piece that is a token stays whole, whatever merges would give
    std::vector<bool> not_whole;  // tokens by id that no piece stays whole for; may be empty
    // Stands for a character that is no token; without one it is left out.
    std::int32_t unknown = kNoToken;
  };
  // The vocabulary must outlive the encoder.
  RankEncoder(const Vocabulary& vocabulary, PairMerger merger, Options options)
      : vocabulary_(vocabulary),
        merger_(std::move(merger)),
        options_(std::move(options)),
        byte_tokens_(byte_tokens(vocabulary)) {}

  void encode(std::string_view piece, std::vector<std::int32_t>& ids) const override;

 private:
  bool append_bytes(std::string_view character, std::vector<std::int32_t>& symbols) const;

  const Vocabulary& vocabulary_;
  PairMerger merger_;
  Options options_;
  std::array<std::int32_t, 256> byte_tokens_;
};

// SentencePiece's byte-pair encoding: any two neighbours whose text is a token merge, the token of
// the highest score first, the leftmost of equal ones. What is no token in the end is written as
// its bytes' tokens.
class ScoreEncoder : public PieceEncoder {
 public:
  // The vocabulary, of which all indexed tokens take part in merges, must outlive the encoder; all
  // 256 bytes are tokens. Scores are by id.
  ScoreEncoder(const Vocabulary& vocabulary, std::vector<double> scores,
               std::array<std::int32_t, 256> bytes);

  void encode(std::string_view piece, std::vector<std::int32_t>& ids) const override;

 private:
  const Vocabulary& vocabulary_;
  std::vector<double> scores_;
  std::array<std::int32_t, 256> byte_tokens_;
  std::size_t longest_ = 0;  // bytes of a token
};

}  // namespace poslens
