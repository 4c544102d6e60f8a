#include "tokenizer/pipeline_tokenizer.h"

#include <fmt/format.h>

#include <charconv>
#include <unordered_map>
#include <utility>

#include "poslens/error.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/characters.h"

namespace poslens {
namespace {

class PipelineTokenizer : public Tokenizer {
 public:
  explicit PipelineTokenizer(std::unique_ptr<TokenizerParts> parts) : parts_(std::move(parts)) {}

  std::vector<std::int32_t> encode(std::string_view text, SpecialTokens special) const override;
  std::string decode(const std::vector<std::int32_t>& ids) const override;
  std::int64_t vocabulary_size() const override { return parts_->vocabulary.size(); }
  std::string kind() const override { return parts_->kind; }
  std::string pre_tokenizer() const override { return parts_->pre_tokenizer; }
  const BosRule& bos_rule() const override { return parts_->bos_rule; }

 private:
  void encode_plain(std::string_view text, bool at_start, std::vector<std::int32_t>& ids) const;

  std::unique_ptr<TokenizerParts> parts_;
};

// Text that holds no added token, normalised.
void PipelineTokenizer::encode_plain(std::string_view text, bool at_start,
                                     std::vector<std::int32_t>& ids) const {
  Pieces pieces(std::string(text), at_start);
  for (const PreTokenizerStep& step : parts_->pre_tokenizer_steps) step(pieces);
  // Where the ids of a piece stand in the output: most pieces come more than once.
  struct Range {
    std::size_t first;
    std::size_t count;
  };
  std::unordered_map<std::string_view, Range> seen;
  std::size_t start = 0;
  for (const std::size_t end : pieces.ends) {
    const std::string_view piece = std::string_view{pieces.text}.substr(start, end - start);
    start = end;
    const auto [known, is_new] = seen.emplace(piece, Range{ids.size(), 0});
    if (is_new) {
      parts_->encoder->encode(piece, ids);
      known->second.count = ids.size() - known->second.first;
    } else {
      const Range range = known->second;
      for (std::size_t i = 0; i < range.count; ++i) ids.push_back(ids[range.first + i]);
    }
  }
}

std::vector<std::int32_t> PipelineTokenizer::encode(std::string_view text,
                                                    SpecialTokens special) const {
  require_utf8(text);
  const bool with_special = special == SpecialTokens::recognised;
  std::vector<std::int32_t> ids;
  parts_->raw.split(text, with_special, [&](std::string_view raw, std::int32_t token) {
    if (token != kNoToken) {
      ids.push_back(token);
      return;
    }
    const bool first = raw.data() == text.data();
    const std::string normalized = normalize(parts_->normalizer, raw);
    parts_->normalized.split(
        normalized, with_special, [&](std::string_view plain, std::int32_t inner) {
          if (inner != kNoToken) {
            ids.push_back(inner);
          } else {
            encode_plain(plain, first && plain.data() == normalized.data(), ids);
          }
        });
  });
  return ids;
}

std::string PipelineTokenizer::decode(const std::vector<std::int32_t>& ids) const {
  std::string text;
  for (const std::int32_t id : ids) {
    if (!parts_->vocabulary.has(id)) {
      throw Error(fmt::format("token id: expected one of the vocabulary, 0 to {}, found {}",
                              vocabulary_size() - 1, id));
    }
    const std::string& token = parts_->vocabulary.text(id);
    text += parts_->is_added[static_cast<std::size_t>(id)] ? token : parts_->bytes_of(token);
  }
  return text;
}

}  // namespace

std::unique_ptr<Tokenizer> make_tokenizer(std::unique_ptr<TokenizerParts> parts) {
  return std::make_unique<PipelineTokenizer>(std::move(parts));
}

std::string byte_level_bytes(std::string_view token) {
  return bytes_of_token(token).value_or(std::string(token));
}

std::string sentence_piece_bytes(std::string_view token) {
  constexpr std::string_view kSpace = "▁";
  if (token.size() == 6 && token.starts_with("<0x") && token.ends_with('>')) {
    unsigned byte = 0;
    const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
    if (error == std::errc() && end == token.data() + 5) return {static_cast<char>(byte)};
  }
  std::string bytes;
  while (!token.empty()) {
    const bool space = token.starts_with(kSpace);
    bytes += space ? ' ' : token.front();
    token.remove_prefix(space ? kSpace.size() : 1);
  }
  return bytes;
}

std::string plain_bytes(std::string_view token) { return std::string(token); }

}  // namespace poslens
