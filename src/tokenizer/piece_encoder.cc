#include "tokenizer/piece_encoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "tokenizer/characters.h"

namespace poslens {

std::array<std::int32_t, 256> byte_tokens(const Vocabulary& vocabulary) {
  std::array<std::int32_t, 256> tokens{};
  for (std::size_t byte = 0; byte < tokens.size(); ++byte) {
    tokens[byte] = vocabulary.find(fmt::format("<0x{:02X}>", byte));
  }
  return tokens;
}

bool RankEncoder::append_bytes(std::string_view character,
                               std::vector<std::int32_t>& symbols) const {
  const auto token_of = [&](char byte) { return byte_tokens_[static_cast<unsigned char>(byte)]; };
  if (std::ranges::any_of(character, [&](char byte) { return token_of(byte) == kNoToken; })) {
    return false;
  }
  for (const char byte : character) symbols.push_back(token_of(byte));
  return true;
}

void RankEncoder::encode(std::string_view piece, std::vector<std::int32_t>& ids) const {
  if (options_.prefers_whole) {
    const std::int32_t whole = vocabulary_.find(piece);
    if (whole != kNoToken &&
        (options_.not_whole.empty() || !options_.not_whole[static_cast<std::size_t>(whole)])) {
      ids.push_back(whole);
      return;
    }
  }
  std::vector<std::int32_t> symbols;
  // An unknown character waits until the next known one, as in Hugging Face's BPE: bytes that stand
  // for a character come in front of it.
  bool waiting = false;
  const auto let_go = [&] {
    if (waiting) symbols.push_back(options_.unknown);
    waiting = false;
  };
  for (std::size_t at = 0; at < piece.size();) {
    const std::string_view character = piece.substr(at, character_at(piece, at).bytes);
    at += character.size();
    const std::int32_t id = vocabulary_.find(character);
    if (id != kNoToken) {
      let_go();
      symbols.push_back(id);
    } else if (!(options_.byte_fallback && append_bytes(character, symbols)) &&
               options_.unknown != kNoToken) {
      if (!options_.fuse_unknown) let_go();
      waiting = true;
    }
  }
  let_go();
  merger_.merge(symbols);
  ids.insert(ids.end(), symbols.begin(), symbols.end());
}

ScoreEncoder::ScoreEncoder(const Vocabulary& vocabulary, std::vector<double> scores,
                           std::array<std::int32_t, 256> bytes)
    : vocabulary_(vocabulary), scores_(std::move(scores)), byte_tokens_(bytes) {
  for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
    longest_ = std::max(longest_, vocabulary.text(id).size());
  }
}

void ScoreEncoder::encode(std::string_view piece, std::vector<std::int32_t>& ids) const {
  std::vector<std::size_t> offsets;  // of the characters, and the end
  for (std::size_t at = 0; at < piece.size(); at += character_at(piece, at).bytes) {
    offsets.push_back(at);
  }
  offsets.push_back(piece.size());
  const auto text_of = [&](std::size_t first, std::size_t end) {
    return piece.substr(offsets[first], offsets[end] - offsets[first]);
  };
  const auto look = [&](const Neighbours& at) -> std::optional<Merge> {
    const std::string_view text = text_of(at.first, at.end);
    const std::int32_t id = text.size() > longest_ ? kNoToken : vocabulary_.find(text);
    if (id == kNoToken) return std::nullopt;
    return Merge{-scores_[static_cast<std::size_t>(id)], id};
  };
  const auto starts =
      merge_neighbours(offsets.size() - 1, look, [](const Neighbours&, const Merge&) {});
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::string_view text =
        text_of(starts[i], i + 1 < starts.size() ? starts[i + 1] : offsets.size() - 1);
    const std::int32_t id = vocabulary_.find(text);
    if (id != kNoToken) {
      ids.push_back(id);
      continue;
    }
    for (const char byte : text) ids.push_back(byte_tokens_[static_cast<unsigned char>(byte)]);
  }
}

}  // namespace poslens
