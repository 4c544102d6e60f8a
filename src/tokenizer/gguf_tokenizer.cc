#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "poslens/error.h"
#include "poslens/tokenizer.h"
#include "tokenizer/bpe.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/pre_tokenizer.h"

namespace poslens {
namespace {

// tokenizer.ggml.token_type
constexpr std::int64_t kNormal = 1;
constexpr std::int64_t kUserDefined = 4;

constexpr std::int32_t kNoToken = -1;

class GgufTokenizer : public Tokenizer {
 public:
  explicit GgufTokenizer(const Checkpoint& checkpoint, const PreTokenizerRules& rules,
                         std::string name)
      : file_(checkpoint.path().string()),
        name_(std::move(name)),
        splitter_(rules),
        adds_bos_(checkpoint.boolean_or("tokenizer.ggml.add_bos_token", rules.adds_bos)) {
    read_tokens(checkpoint);
    read_merges(checkpoint.texts("tokenizer.ggml.merges"));
    read_bos(checkpoint);
  }

  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string decode(const std::vector<std::int32_t>& ids) const override;
  std::int64_t vocabulary_size() const override { return std::ssize(texts_); }
  std::string pre_tokenizer() const override { return name_; }
  bool adds_bos() const override { return adds_bos_; }
  std::optional<std::int32_t> bos() const override { return bos_; }

 private:
  [[noreturn]] void fail(std::string_view key, std::string_view expected,
                         std::string_view found) const {
    throw Error(fmt::format("{}: metadata 'tokenizer.ggml.{}': expected {}, found {}", file_, key,
                            expected, found));
  }
  void read_tokens(const Checkpoint& checkpoint);
  void read_merges(const std::vector<std::string>& merges);
  void read_bos(const Checkpoint& checkpoint);
  std::int32_t find(std::string_view bytes) const {
    const auto found = ids_.find(bytes);
    return found == ids_.end() ? kNoToken : found->second;
  }
  std::int32_t added_token_at(std::string_view text) const;

  // Where the ids of a piece stand in the output.
  struct Range {
    std::size_t first;
    std::size_t count;
  };
  using Seen = std::unordered_map<std::string_view, Range>;
  void encode_piece(std::string_view piece, std::vector<std::int32_t>& ids) const;
  void encode_plain(std::string_view text, std::vector<std::int32_t>& ids) const;

  std::string file_;
  std::string name_;
  PreTokenizer splitter_;
  bool adds_bos_;
  std::optional<std::int32_t> bos_;
  std::vector<std::string> texts_;                          // what each token decodes to
  std::vector<bool> normal_;                                // not added or special
  std::unordered_map<std::string_view, std::int32_t> ids_;  // of texts_, by the bytes meant
  std::array<std::int32_t, 256> byte_ids_{};
  PairMerger merger_;
  // Tokens that are looked for in the text before anything else, longest first, by their first
  // byte.
  std::array<std::vector<std::int32_t>, 256> added_;
};

void GgufTokenizer::read_tokens(const Checkpoint& checkpoint) {
  const std::vector<std::string>& tokens = checkpoint.texts("tokenizer.ggml.tokens");
  constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
  if (tokens.empty() || tokens.size() > kMost) {
    fail("tokens", fmt::format("1 to {} tokens", kMost), fmt::format("{}", tokens.size()));
  }
  std::vector<std::int64_t> types(tokens.size(), kNormal);
  if (checkpoint.has("tokenizer.ggml.token_type")) {
    types = checkpoint.integers("tokenizer.ggml.token_type");
  }
  if (types.size() != tokens.size()) {
    fail("token_type", fmt::format("{} types, one per token", tokens.size()),
         fmt::format("{}", types.size()));
  }
  texts_.reserve(tokens.size());  // ids_ refers to the texts: they must not move
  std::vector<std::int32_t> others;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    const bool normal = types[i] == kNormal;
    const std::optional<std::string> bytes =
        types[i] == kUserDefined ? std::nullopt : bytes_of_token(tokens[i]);
    texts_.push_back(bytes.value_or(tokens[i]));
    normal_.push_back(normal);
    if (!normal) {
      others.push_back(id);
      if (types[i] == kUserDefined && !tokens[i].empty()) {
        added_[static_cast<unsigned char>(tokens[i][0])].push_back(id);
      }
    } else if (bytes) {
      const auto [twin, is_new] = ids_.emplace(texts_.back(), id);
      if (!is_new) {
        fail("tokens", "each normal token once",
             fmt::format("tokens {} and {} the same", twin->second, id));
      }
    }
  }
  // Merges may lead to an added token; where a normal one has the same text, that is meant.
  for (const std::int32_t id : others) ids_.emplace(texts_[static_cast<std::size_t>(id)], id);
  for (auto& same_byte : added_) {
    std::ranges::stable_sort(same_byte, std::ranges::greater{}, [&](std::int32_t id) {
      return texts_[static_cast<std::size_t>(id)].size();
    });
  }
  for (int byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    byte_ids_[static_cast<std::size_t>(byte)] = find({&text, 1});
  }
}

void GgufTokenizer::read_merges(const std::vector<std::string>& merges) {
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const std::string_view merge = merges[i];
    const std::size_t space = merge.find(' ', 1);
    const auto left = bytes_of_token(merge.substr(0, space));
    const auto right =
        space < merge.size() ? bytes_of_token(merge.substr(space + 1)) : std::nullopt;
    const std::int32_t left_id = left ? find(*left) : kNoToken;
    const std::int32_t right_id = right ? find(*right) : kNoToken;
    const std::int32_t merged = left && right ? find(*left + *right) : kNoToken;
    if (left_id == kNoToken || right_id == kNoToken || merged == kNoToken) {
      fail("merges", "two tokens that make a third", fmt::format("merge {}, '{}'", i, merge));
    }
    if (!merger_.add(left_id, right_id, merged)) {
      fail("merges", "each merge once", fmt::format("merge {}, '{}', again", i, merge));
    }
  }
}

void GgufTokenizer::read_bos(const Checkpoint& checkpoint) {
  if (checkpoint.has("tokenizer.ggml.bos_token_id")) {
    const std::int64_t id = checkpoint.integer("tokenizer.ggml.bos_token_id");
    if (id < 0 || id >= vocabulary_size()) {
      fail("bos_token_id", fmt::format("an id below {}", vocabulary_size()), fmt::format("{}", id));
    }
    bos_ = static_cast<std::int32_t>(id);
  } else if (adds_bos_) {
    fail("bos_token_id", "the id of the BOS token, which goes in front of every text",
         "no such key");
  }
}

std::int32_t GgufTokenizer::added_token_at(std::string_view text) const {
  for (const std::int32_t id : added_[static_cast<unsigned char>(text.front())]) {
    if (text.starts_with(texts_[static_cast<std::size_t>(id)])) return id;
  }
  return kNoToken;
}

void GgufTokenizer::encode_piece(std::string_view piece, std::vector<std::int32_t>& ids) const {
  if (splitter_.rules().prefers_whole) {
    const std::int32_t whole = find(piece);
    if (whole != kNoToken && normal_[static_cast<std::size_t>(whole)]) {
      ids.push_back(whole);
      return;
    }
  }
  // A byte that the vocabulary lacks is left out, as Hugging Face's tokenizers do.
  std::vector<std::int32_t> symbols;
  for (const char byte : piece) {
    const std::int32_t id = byte_ids_[static_cast<unsigned char>(byte)];
    if (id != kNoToken) symbols.push_back(id);
  }
  merger_.merge(symbols);
  ids.insert(ids.end(), symbols.begin(), symbols.end());
}

void GgufTokenizer::encode_plain(std::string_view text, std::vector<std::int32_t>& ids) const {
  const std::string composed = splitter_.rules().composes ? compose(text) : std::string();
  if (splitter_.rules().composes) text = composed;
  Seen seen;
  splitter_.split(text, [&](std::string_view piece) {
    const auto [known, is_new] = seen.emplace(piece, Range{ids.size(), 0});
    if (is_new) {
      encode_piece(piece, ids);
      known->second.count = ids.size() - known->second.first;
    } else {
      const Range range = known->second;
      for (std::size_t i = 0; i < range.count; ++i) ids.push_back(ids[range.first + i]);
    }
  });
}

std::vector<std::int32_t> GgufTokenizer::encode(std::string_view text) const {
  require_utf8(text);
  std::vector<std::int32_t> ids;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::int32_t added = added_token_at(text.substr(i));
    if (added == kNoToken) {
      ++i;
      continue;
    }
    encode_plain(text.substr(start, i - start), ids);
    ids.push_back(added);
    i += texts_[static_cast<std::size_t>(added)].size();
    start = i;
  }
  encode_plain(text.substr(start), ids);
  return ids;
}

std::string GgufTokenizer::decode(const std::vector<std::int32_t>& ids) const {
  std::string text;
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= vocabulary_size()) {
      throw Error(fmt::format("token id: expected 0 to {}, found {}", vocabulary_size() - 1, id));
    }
    text += texts_[static_cast<std::size_t>(id)];
  }
  return text;
}

}  // namespace

std::unique_ptr<Tokenizer> Tokenizer::from_gguf(const Checkpoint& checkpoint) {
  const auto refuse = [&](std::string_view key, std::string_view expected) {
    const std::string name = fmt::format("tokenizer.ggml.{}", key);
    throw Error(fmt::format(
        "{}: metadata '{}': expected {}, found {}; text cannot be used, token ids can",
        checkpoint.path().string(), name, expected,
        checkpoint.has(name) ? fmt::format("'{}'", checkpoint.text(name)) : "no such key"));
  };
  if (checkpoint.text_or("tokenizer.ggml.model", "") != "gpt2") {
    refuse("model", "'gpt2' (byte-level BPE)");
  }
  std::string name = checkpoint.text_or("tokenizer.ggml.pre", "");
  const PreTokenizerRules* rules = find_pre_tokenizer(name);
  if (rules == nullptr) refuse("pre", "one of " + known_pre_tokenizers());
  return std::make_unique<GgufTokenizer>(checkpoint, *rules, std::move(name));
}

}  // namespace poslens
