// Tokenizers from GGUF metadata, tokenizer.ggml.*.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "poslens/error.h"
#include "tokenizer/characters.h"
#include "tokenizer/gguf_pre_tokenizer.h"
#include "tokenizer/pipeline_tokenizer.h"

namespace poslens {
namespace {

// tokenizer.ggml.token_type
constexpr std::int64_t kNormal = 1;
constexpr std::int64_t kUnknown = 2;
constexpr std::int64_t kControl = 3;
constexpr std::int64_t kUserDefined = 4;
constexpr std::int64_t kUnused = 5;
constexpr std::int64_t kByte = 6;

class Reader {
 public:
  explicit Reader(const Checkpoint& checkpoint)
      : checkpoint_(checkpoint), tokens_(checkpoint.texts(key("tokens"))) {
    constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
    if (tokens_.empty() || tokens_.size() > kMost) {
      fail("tokens", fmt::format("1 to {} tokens", kMost), fmt::format("{}", tokens_.size()));
    }
    types_.assign(tokens_.size(), kNormal);
    if (checkpoint.has(key("token_type"))) types_ = checkpoint.integers(key("token_type"));
    if (types_.size() != tokens_.size()) {
      fail("token_type", fmt::format("{} types, one per token", tokens_.size()),
           fmt::format("{}", types_.size()));
    }
  }

  std::unique_ptr<TokenizerParts> byte_level(std::string name, const GgufPreTokenizer& rules) {
    auto parts = start(false);
    parts->kind = "byte-level BPE";
    parts->pre_tokenizer = std::move(name);
    index_normal(parts->vocabulary, {kNormal});
    RankEncoder::Options options;
    options.prefers_whole = rules.prefers_whole;
    // Merges may lead to an added token; where a normal one has the same text, that is meant.
    options.not_whole.assign(tokens_.size(), false);
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (types_[i] == kNormal) continue;
      options.not_whole[i] = true;
      parts->vocabulary.index(static_cast<std::int32_t>(i));
    }
    if (rules.composes) {
      parts->normalizer.emplace_back(
          [](std::string& text) { text = to_normal_form(text, NormalForm::nfc); });
    }
    parts->pre_tokenizer_steps = pre_tokenizer_steps(rules);
    parts->encoder = std::make_unique<RankEncoder>(
        parts->vocabulary, read_merges(parts->vocabulary), std::move(options));
    parts->bos_rule = read_bos_rule(rules.adds_bos, std::nullopt, std::nullopt);
    return parts;
  }

  // Llama 2, Mistral, Gemma. Control and byte tokens take no part in merges, as in SentencePiece:
  // a text that spells "<s>" is no second BOS.
  std::unique_ptr<TokenizerParts> sentence_piece() {
    auto parts = start(true);
    parts->kind = "SentencePiece BPE, byte fallback";
    index_normal(parts->vocabulary, {kNormal, kUnused});
    if (checkpoint_.boolean_or(key("add_space_prefix"), true)) {
      parts->pre_tokenizer = "space in front, ▁ for spaces";
      parts->normalizer.push_back(prepend_step(" "));
    } else {
      parts->pre_tokenizer = "▁ for spaces";
    }
    parts->normalizer.push_back(replace_step(cut_at_text(" "), "▁"));
    std::vector<double> scores = read_scores();
    parts->encoder =
        std::make_unique<ScoreEncoder>(parts->vocabulary, std::move(scores), read_bytes());
    parts->bos_rule = read_bos_rule(true, 1, 2);
    return parts;
  }

 private:
  static std::string key(std::string_view name) { return fmt::format("tokenizer.ggml.{}", name); }

  [[noreturn]] void fail(std::string_view name, std::string_view expected,
                         std::string_view found) const {
    throw Error(fmt::format("{}: metadata '{}': expected {}, found {}", checkpoint_.path().string(),
                            key(name), expected, found));
  }

  // All tokens, none of them indexed; those to look for in the text.
  std::unique_ptr<TokenizerParts> start(bool sentence_piece) const {
    auto parts = std::make_unique<TokenizerParts>(Vocabulary(tokens_.size()));
    parts->bytes_of = sentence_piece ? sentence_piece_bytes : byte_level_bytes;
    parts->is_added.assign(tokens_.size(), false);
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const auto id = static_cast<std::int32_t>(i);
      parts->vocabulary.put(id, tokens_[i]);
      const bool special = types_[i] == kControl || types_[i] == kUnknown;
      if (types_[i] != kUserDefined && !special) continue;
      parts->is_added[i] = true;
      if (tokens_[i].empty()) continue;
      AddedToken token{.id = id, .text = tokens_[i], .special = special};
      if (sentence_piece && !token.special) {
        // SentencePiece looks for these when spaces are written as ▁ already; llama.cpp's converter
        // put spaces back.
        token.text = normalize({replace_step(cut_at_text(" "), "▁")}, token.text);
        parts->normalized.add(std::move(token));
      } else {
        parts->raw.add(std::move(token));
      }
    }
    return parts;
  }

  void index_normal(Vocabulary& vocabulary, std::initializer_list<std::int64_t> types) const {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const auto id = static_cast<std::int32_t>(i);
      if (std::ranges::find(types, types_[i]) == types.end() || vocabulary.index(id)) continue;
      fail("tokens", "each normal token once",
           fmt::format("tokens {} and {} the same", vocabulary.find(tokens_[i]), id));
    }
  }

  PairMerger read_merges(const Vocabulary& vocabulary) const {
    PairMerger merger;
    const std::vector<std::string>& merges = checkpoint_.texts(key("merges"));
    for (std::size_t i = 0; i < merges.size(); ++i) {
      const std::string_view merge = merges[i];
      const std::size_t space = std::min(merge.find(' ', 1), merge.size());
      const std::string_view left = merge.substr(0, space);
      const std::string_view right = merge.substr(std::min(space + 1, merge.size()));
      const std::int32_t left_id = vocabulary.find(left);
      const std::int32_t right_id = vocabulary.find(right);
      const std::int32_t merged = vocabulary.find(fmt::format("{}{}", left, right));
      if (left.empty() || right.empty() || left_id == kNoToken || right_id == kNoToken ||
          merged == kNoToken) {
        fail("merges", "two tokens that make a third", fmt::format("merge {}, '{}'", i, merge));
      }
      if (!merger.add(left_id, right_id, merged)) {
        fail("merges", "each merge once", fmt::format("merge {}, '{}', again", i, merge));
      }
    }
    return merger;
  }

  std::vector<double> read_scores() const {
    const auto found = checkpoint_.metadata().find(key("scores"));
    const auto* scores = found == checkpoint_.metadata().end()
                             ? nullptr
                             : std::get_if<std::vector<double>>(&found->second);
    if (scores == nullptr) fail("scores", "a list of numbers", "none");
    if (scores->size() != tokens_.size()) {
      fail("scores", fmt::format("{} scores, one per token", tokens_.size()),
           fmt::format("{}", scores->size()));
    }
    const auto bad = std::ranges::find_if(*scores, [](double score) { return score != score; });
    if (bad != scores->end()) {
      fail("scores", "numbers", fmt::format("NaN at {}", bad - scores->begin()));
    }
    return *scores;
  }

  std::array<std::int32_t, 256> read_bytes() const {
    Vocabulary bytes(tokens_.size());
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const auto id = static_cast<std::int32_t>(i);
      if (types_[i] != kByte) continue;
      bytes.put(id, tokens_[i]);
      bytes.index(id);
    }
    const auto result = byte_tokens(bytes);
    for (std::size_t byte = 0; byte < result.size(); ++byte) {
      if (result[byte] == kNoToken) {
        fail("tokens", "a token of type 6 for every byte", fmt::format("none for {:#04x}", byte));
      }
    }
    return result;
  }

  std::optional<std::int32_t> read_id(std::string_view name,
                                      std::optional<std::int32_t> otherwise) const {
    const auto size = std::ssize(tokens_);
    if (!checkpoint_.has(key(name))) return otherwise < size ? otherwise : std::nullopt;
    const std::int64_t id = checkpoint_.integer(key(name));
    if (id < 0 || id >= size) {
      fail(name, fmt::format("an id below {}", size), fmt::format("{}", id));
    }
    return static_cast<std::int32_t>(id);
  }

  BosRule read_bos_rule(bool adds_bos, std::optional<std::int32_t> bos,
                        std::optional<std::int32_t> eos) const {
    BosRule rule;
    rule.bos = read_id("bos_token_id", bos);
    rule.eos = read_id("eos_token_id", eos);
    rule.adds_bos = checkpoint_.boolean_or(key("add_bos_token"), adds_bos);
    rule.adds_eos = checkpoint_.boolean_or(key("add_eos_token"), false);
    rule.source = checkpoint_.has(key("add_bos_token")) ? key("add_bos_token")
                                                        : "the rule of this kind of tokenizer";
    if (rule.adds_bos && !rule.bos) {
      fail("bos_token_id", "the id of the BOS token, which goes in front of every text",
           "no such key");
    }
    if (rule.adds_eos && !rule.eos) {
      fail("eos_token_id", "the id of the EOS token, which goes behind every text", "no such key");
    }
    return rule;
  }

  const Checkpoint& checkpoint_;
  const std::vector<std::string>& tokens_;
  std::vector<std::int64_t> types_;
};

}  // namespace

std::unique_ptr<Tokenizer> Tokenizer::from_gguf(const Checkpoint& checkpoint) {
  const auto refuse = [&](std::string_view key, std::string_view expected) {
    const std::string name = fmt::format("tokenizer.ggml.{}", key);
    throw Error(fmt::format(
        "{}: metadata '{}': expected {}, found {}; text cannot be used, token ids can",
        checkpoint.path().string(), name, expected,
        checkpoint.has(name) ? fmt::format("'{}'", checkpoint.text(name)) : "no such key"));
  };
  const std::string model = checkpoint.text_or("tokenizer.ggml.model", "");
  if (model == "llama") return make_tokenizer(Reader(checkpoint).sentence_piece());
  if (model != "gpt2") refuse("model", "'gpt2' (byte-level BPE) or 'llama' (SentencePiece)");
  std::string name = checkpoint.text_or("tokenizer.ggml.pre", "");
  const GgufPreTokenizer* rules = find_gguf_pre_tokenizer(name);
  if (rules == nullptr) {
    refuse("pre", fmt::format("one of {}", known_gguf_pre_tokenizers()));
  }
  return make_tokenizer(Reader(checkpoint).byte_level(std::move(name), *rules));
}

}  // namespace poslens
