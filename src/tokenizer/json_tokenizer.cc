// Tokenizers from tokenizer.json, the format of Hugging Face's tokenizers.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "poslens/error.h"
#include "tokenizer/bos_rule.h"
#include "tokenizer/characters.h"
#include "tokenizer/pipeline_tokenizer.h"

namespace poslens {
namespace {

// Largest id that a file with so many tokens may have: holes are common, but not wide ones, and
// they must not take memory.
std::int64_t largest_id(std::size_t tokens) {
  return std::min<std::int64_t>(2 * static_cast<std::int64_t>(tokens) + 4096,
                                std::numeric_limits<std::int32_t>::max() - 1);
}

// In quotation marks, control characters escaped, cut after 60 bytes.
std::string in_quotes(std::string_view text) {
  const std::string start(text.substr(0, 60));
  return nlohmann::json(start).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class Reader {
 public:
  explicit Reader(const Config& file)
      : file_(file), model_(file.object("model")), added_(added_tokens(file)) {
    require_model();
  }

  std::unique_ptr<TokenizerParts> read() {
    auto parts = std::make_unique<TokenizerParts>(read_vocabulary());
    parts->normalizer = read_normalizer(file_);
    parts->pre_tokenizer_steps = read_pre_tokenizer(file_);
    parts->pre_tokenizer = describe_steps(file_, "pre_tokenizer", "pretokenizers");
    const std::string normalizer = describe_steps(file_, "normalizer", "normalizers");
    if (normalizer != "none") {
      parts->pre_tokenizer = fmt::format("{} (normalizer {})", parts->pre_tokenizer, normalizer);
    }
    read_decoder(*parts);
    take_added_tokens(*parts);
    RankEncoder::Options options;
    options.byte_fallback = model_.boolean_or("byte_fallback", false);
    options.fuse_unknown = model_.boolean_or("fuse_unk", false);
    options.prefers_whole = model_.boolean_or("ignore_merges", false);
    options.unknown = unknown_token(parts->vocabulary);
    parts->kind = parts->bytes_of == byte_level_bytes ? "byte-level BPE"
                  : options.byte_fallback             ? "SentencePiece BPE, byte fallback"
                                                      : "BPE";
    parts->encoder = std::make_unique<RankEncoder>(
        parts->vocabulary, read_merges(parts->vocabulary), std::move(options));
    return parts;
  }

 private:
  static std::vector<Config> added_tokens(const Config& file) {
    return file.has("added_tokens") ? file.objects("added_tokens") : std::vector<Config>();
  }

  void require_model() const {
    const std::string type = model_.text_or("type", "BPE");
    if (type != "BPE") model_.fail("type", "BPE", type);
    if (model_.number_or("dropout", 0) != 0) {
      model_.fail("dropout", "none", fmt::format("{}", model_.number("dropout")));
    }
    for (const std::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const std::string text = model_.text_or(key, "");
      if (!text.empty()) model_.fail(key, "none", in_quotes(text));
    }
  }

  std::int64_t id_of(const Config& added, std::int64_t largest) const {
    const std::int64_t id = added.integer("id");
    if (id < 0 || id > largest) {
      added.fail("id", fmt::format("0 to {}", largest), fmt::format("{}", id));
    }
    return id;
  }

  // The model's tokens, indexed, and added tokens that are not among them.
  Vocabulary read_vocabulary() const {
    const Config tokens = model_.object("vocab");
    const std::int64_t most = largest_id(tokens.json().size() + added_.size());
    std::int64_t largest = -1;
    for (const auto& [token, value] : tokens.json().items()) {
      const bool in_range = value.is_number_unsigned() &&
                            value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
      if (!in_range) {
        model_.fail(fmt::format("vocab, token {}", in_quotes(token)),
                    fmt::format("an id of 0 to {}", most),
                    value.is_number() ? value.dump() : value.type_name());
      }
      largest = std::max(largest, value.get<std::int64_t>());
    }
    for (const Config& added : added_) largest = std::max(largest, id_of(added, most));
    if (largest < 0) model_.fail("vocab", "a token at least", "none");
    Vocabulary vocabulary(static_cast<std::size_t>(largest + 1));
    for (const auto& [token, value] : tokens.json().items()) {
      const auto id = value.get<std::int32_t>();
      if (vocabulary.has(id)) {
        model_.fail(fmt::format("vocab, token {}", in_quotes(token)), "an id of its own",
                    fmt::format("{}, the id of {}", id, in_quotes(vocabulary.text(id))));
      }
      vocabulary.put(id, token);
      vocabulary.index(id);
    }
    // Hugging Face's tokenizers do not believe the ids of added tokens: those that the vocabulary
    // lacks are counted from its size on. A file that says otherwise is ambiguous.
    auto next = static_cast<std::int64_t>(tokens.json().size());
    for (const Config& added : added_) {
      const auto id = static_cast<std::int32_t>(added.integer("id"));
      const std::string text = added.text("content");
      const std::int32_t known = vocabulary.find(text);
      const std::int64_t expected = known == kNoToken ? next : known;
      if (id != expected || (known == kNoToken && vocabulary.has(id))) {
        added.fail("id", fmt::format("{}, which tokenizers gives to {}", expected, in_quotes(text)),
                   vocabulary.has(id)
                       ? fmt::format("{}, the id of {}", id, in_quotes(vocabulary.text(id)))
                       : fmt::format("{}", id));
      }
      next = std::max(next, std::int64_t{id} + 1);
      if (known == kNoToken) vocabulary.put(id, text);
    }
    return vocabulary;
  }

  void take_added_tokens(TokenizerParts& parts) const {
    parts.is_added.assign(static_cast<std::size_t>(parts.vocabulary.size()), false);
    std::unordered_set<std::string> texts;
    for (const Config& added : added_) {
      AddedToken token{.id = static_cast<std::int32_t>(added.integer("id")),
                       .text = added.text("content"),
                       .special = added.boolean("special"),
                       .single_word = added.boolean("single_word"),
                       .strips_left = added.boolean("lstrip"),
                       .strips_right = added.boolean("rstrip")};
      if (!texts.insert(token.text).second) {
        added.fail("content", "each added token once", in_quotes(token.text));
      }
      parts.is_added[static_cast<std::size_t>(token.id)] = true;
      const bool normalized = added.boolean("normalized");
      if (normalized) token.text = normalize(parts.normalizer, token.text);
      if (token.text.empty()) continue;
      (normalized ? parts.normalized : parts.raw).add(std::move(token));
    }
  }

  std::int32_t unknown_token(const Vocabulary& vocabulary) const {
    const std::string text = model_.text_or("unk_token", "");
    if (text.empty()) return kNoToken;
    const std::int32_t id = vocabulary.find(text);
    if (id == kNoToken) model_.fail("unk_token", "a token of the vocabulary", in_quotes(text));
    return id;
  }

  // A list of "left right" or of ["left", "right"].
  PairMerger read_merges(const Vocabulary& vocabulary) const {
    const auto& model = model_.json();
    const auto merges = model.find("merges");
    if (merges == model.end() || !merges->is_array()) {
      model_.fail("merges", "a list", merges == model.end() ? "no such key" : merges->type_name());
    }
    PairMerger merger;
    std::size_t i = 0;
    for (const auto& merge : *merges) {
      const std::string field = fmt::format("merges[{}]", i++);
      std::string_view left;
      std::string_view right;
      if (merge.is_string()) {
        const std::string_view text = merge.get_ref<const std::string&>();
        if (text.starts_with("#version")) continue;
        const std::size_t space = text.find(' ');
        left = text.substr(0, space);
        if (space != text.npos) right = text.substr(space + 1);
        if (right.find(' ') != right.npos) right = {};
      } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
                 merge[1].is_string()) {
        left = merge[0].get_ref<const std::string&>();
        right = merge[1].get_ref<const std::string&>();
      }
      const auto found = [&] {
        return left.empty() || right.empty()
                   ? std::string(merge.type_name())
                   : fmt::format("{} and {}", in_quotes(left), in_quotes(right));
      };
      if (left.empty() || right.empty()) {
        model_.fail(field, "two tokens, \"a b\" or [\"a\", \"b\"]", found());
      }
      const std::int32_t left_id = vocabulary.find(left);
      const std::int32_t right_id = vocabulary.find(right);
      const std::int32_t merged = vocabulary.find(fmt::format("{}{}", left, right));
      if (left_id == kNoToken || right_id == kNoToken || merged == kNoToken) {
        model_.fail(field, "two tokens that make a third", found());
      }
      if (!merger.add(left_id, right_id, merged)) model_.fail(field, "each merge once", found());
    }
    return merger;
  }

  // What tokens decode to follows from the decoder's steps, whatever their order.
  void read_decoder(TokenizerParts& parts) const {
    parts.bytes_of = plain_bytes;
    if (const auto decoder = file_.object_if("decoder")) read_decoder_step(*decoder, parts);
  }
  static void read_decoder_step(const Config& step, TokenizerParts& parts) {
    const std::string type = step.text("type");
    if (type == "Sequence") {
      for (const Config& part : step.objects("decoders")) read_decoder_step(part, parts);
    } else if (type == "ByteLevel") {
      parts.bytes_of = byte_level_bytes;
    } else if (type == "Metaspace" || type == "ByteFallback" || type == "Replace") {
      parts.bytes_of = sentence_piece_bytes;
    } else if (type != "Fuse" && type != "Strip") {
      step.fail("type", "Sequence, ByteLevel, Metaspace, ByteFallback, Replace, Fuse or Strip",
                type);
    }
  }

  const Config& file_;
  Config model_;
  std::vector<Config> added_;
};

}  // namespace

std::unique_ptr<Tokenizer> Tokenizer::from_json(std::string_view json, std::string_view config_json,
                                                const std::string& file) {
  const Config config = Config::parse(json, file);
  auto parts = Reader(config).read();
  parts->bos_rule = read_bos_rule(config, config_json, file, parts->vocabulary, parts->is_added);
  return make_tokenizer(std::move(parts));
}

}  // namespace poslens
