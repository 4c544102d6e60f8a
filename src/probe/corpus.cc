#include "poslens/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "poslens/error.h"
#include "poslens/hash.h"
#include "poslens/random.h"
#include "probe/documents.h"

namespace poslens {
namespace {

using Ids = std::vector<std::int32_t>;

void require_range(const char* option, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high) {
    throw UsageError(fmt::format("{} {}: expected {} to {}", option, value, low, high));
  }
}

// What becomes of BOS tokens.
struct BosTokens {
  std::optional<std::int32_t> put;   // in front of every sequence
  std::optional<std::int32_t> drop;  // off the front of every sequence, before one is put there
};

// Collects sequences until there are enough.
class Collector {
 public:
  Collector(const CorpusOptions& options, Cut cut, const BosTokens& bos)
      : options_(options), bos_(bos) {
    corpus_.batch.length = options.length;
    corpus_.cut = cut;
  }

  bool full() const { return missing() == 0; }

  // Whether a document that goes on behind these tokens need not be read further.
  bool enough(std::span<const std::int32_t> document) const {
    return std::ssize(cut(document)) == wanted();
  }
  // About how many tokens of the next document are needed.
  std::int64_t about() const { return wanted() * options_.length; }

  // Returns how many tokens of the document were used, or looked at.
  std::size_t add(std::span<const std::int32_t> document) {
    const auto parts = cut(document);
    if (parts.empty()) {
      ++corpus_.documents_skipped;
      return document.size();
    }
    ++corpus_.documents_used;
    Ids& ids = corpus_.batch.ids;
    for (const auto part : parts) {
      if (bos_.put) ids.push_back(*bos_.put);
      ids.insert(ids.end(), part.begin(), part.end());
    }
    return static_cast<std::size_t>(parts.back().data() + parts.back().size() - document.data());
  }

  // Throws Error when there are too few.
  Corpus take(const std::filesystem::path& source) {
    corpus_.source = source.string();
    if (!full()) {
      throw Error(fmt::format(
          "{}: expected {} sequence{} of {} tokens, found {}; documents long enough: {}, too "
          "short: "
          "{}",
          corpus_.source, options_.sequences, options_.sequences == 1 ? "" : "s", options_.length,
          corpus_.batch.sequences(), corpus_.documents_used, corpus_.documents_skipped));
    }
    corpus_.fingerprint = Hash().add(std::as_bytes(std::span(corpus_.batch.ids))).hex();
    return std::move(corpus_);
  }

 private:
  std::int64_t missing() const { return options_.sequences - corpus_.batch.sequences(); }
  // Sequences of the next document.
  std::int64_t wanted() const { return corpus_.cut == Cut::start ? 1 : missing(); }

  // The sequences that a document gives, at most those wanted, without the BOS in front.
  std::vector<std::span<const std::int32_t>> cut(std::span<const std::int32_t> document) const {
    const auto size = static_cast<std::size_t>(options_.length - (bos_.put ? 1 : 0));
    std::vector<std::span<const std::int32_t>> parts;
    while (std::ssize(parts) < wanted()) {
      while (bos_.drop && !document.empty() && document.front() == *bos_.drop) {
        document = document.subspan(1);
      }
      if (document.size() < size) break;
      parts.push_back(document.first(size));
      document = document.subspan(size);
    }
    return parts;
  }

  const CorpusOptions& options_;
  BosTokens bos_;
  Corpus corpus_;
};

[[noreturn]] void refuse_id(const std::string& where, std::size_t place, int vocabulary,
                            const std::string& found) {
  throw Error(fmt::format("{}: token {}: expected an id of 0 to {}, found {}", where, place,
                          vocabulary - 1, found));
}

// The end of the last line that the next line's first letter separates for sure from what follows:
// pre-tokenizers break between a line end and a letter.
std::size_t safe_end(const std::string& text) {
  for (std::size_t i = text.size(); i-- > 2;) {
    const auto letter = static_cast<unsigned char>(text[i]);
    if (text[i - 1] == '\n' && letter < 128 && std::isalpha(letter) != 0) return i;
  }
  return 0;
}

// The ids of a document, or as many as the collector needs, reading little more of it than that
// takes. Ids close to the end of the part that was read may differ from those of the whole document
// and are not used.
Ids encode_start(const DocumentReader& document, const Tokenizer& tokenizer,
                 const Collector& collector) {
  constexpr std::size_t kMargin = 64;
  for (std::size_t limit = 8 * static_cast<std::size_t>(collector.about()) + 4096;; limit *= 4) {
    std::string text = document.prefix(limit);
    const bool whole = text.size() < limit;
    if (!whole) text.resize(safe_end(text));
    Ids ids;
    try {
      ids = tokenizer.encode(text);
    } catch (const Error& error) {
      throw Error(document.where() + ": " + error.what());
    }
    if (!whole) ids.resize(ids.size() - std::min(ids.size(), kMargin));
    if (whole || collector.enough(ids)) return ids;
  }
}

void collect_text(const CorpusOptions& options, const Tokenizer& tokenizer, int vocabulary,
                  Collector& collector) {
  DocumentReader documents(options.text);
  while (!collector.full() && documents.next()) {
    const Ids ids = encode_start(documents, tokenizer, collector);
    const std::size_t used = collector.add(ids);
    for (std::size_t i = 0; i < used; ++i) {
      if (ids[i] < 0 || ids[i] >= vocabulary) {
        refuse_id(documents.where(), i, vocabulary, std::to_string(ids[i]));
      }
    }
  }
}

// One row of the file; rows and tokens are counted from 0.
Ids read_row(const nlohmann::json& row, int vocabulary, const std::string& where) {
  if (!row.is_array()) throw Error(where + ": expected a list of token ids");
  Ids ids;
  ids.reserve(row.size());
  for (const auto& id : row) {
    // The parser calls integers unsigned unless they have a sign.
    if (!id.is_number_unsigned() ||
        id.get<std::uint64_t>() >= static_cast<std::uint64_t>(vocabulary)) {
      refuse_id(where, ids.size(), vocabulary, id.is_structured() ? id.type_name() : id.dump());
    }
    ids.push_back(id.get<std::int32_t>());
  }
  return ids;
}

void collect_tokens(const CorpusOptions& options, int vocabulary, Collector& collector) {
  const std::string path = options.tokens.string();
  std::ifstream file(options.tokens, std::ios::binary);
  if (!file || std::filesystem::is_directory(options.tokens)) {
    throw Error(path + ": no such file, or it cannot be read");
  }
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(file);
  } catch (const nlohmann::json::parse_error& error) {
    throw Error(fmt::format("{}: expected JSON; it breaks off at byte {}", path, error.byte));
  }
  if (!json.is_object() || !json.contains("tokens") || !json["tokens"].is_array()) {
    throw Error(path + R"(: expected {"tokens": [[...], ...]})");
  }
  const nlohmann::json& rows = json["tokens"];
  for (std::size_t i = 0; i < rows.size() && !collector.full(); ++i) {
    collector.add(read_row(rows[i], vocabulary, fmt::format("{}: row {}", path, i)));
  }
}

// A text follows the tokenizer's file or the options, token ids the options alone. A sequence that
// is to start with BOS never starts with two.
BosTokens bos_tokens(const CorpusOptions& options, const Tokenizer* tokenizer) {
  const bool from_text = !options.text.empty();
  const std::string source = (from_text ? options.text : options.tokens).string();
  BosTokens bos;
  const bool puts = options.bos == BosPolicy::force ||
                    (options.bos == BosPolicy::file && from_text && tokenizer->adds_bos());
  if (!puts && options.bos == BosPolicy::file) return bos;
  if (tokenizer == nullptr) {
    throw Error(source + ": bos=none and bos=force need the model's tokenizer, which is unknown");
  }
  if (puts && !tokenizer->bos()) {
    throw Error(source + ": a BOS token is asked for, and the model's tokenizer names none");
  }
  bos.drop = tokenizer->bos();
  if (puts) bos.put = bos.drop;
  return bos;
}

std::string in_words(const CorpusOptions& options, const Tokenizer* tokenizer,
                     std::optional<std::int32_t> bos) {
  std::string words;
  if (tokenizer == nullptr) {
    words = "tokenizer unknown";
  } else {
    words = tokenizer->adds_bos() ? "the file adds BOS" : "the file adds no BOS";
  }
  if (!options.tokens.empty() && options.bos == BosPolicy::file) return words + "; ids as given";
  if (bos) {
    words += fmt::format("; token {} in front of every sequence", *bos);
  } else {
    words += "; none in front of the sequences";
  }
  if (options.bos == BosPolicy::none) words += " (bos=none)";
  if (options.bos == BosPolicy::force) words += " (bos=force)";
  return words;
}

}  // namespace

std::string to_string(Cut cut) {
  switch (cut) {
    case Cut::start:
      return "start";
    case Cut::windows:
      return "windows";
    case Cut::automatic:
      break;
  }
  return "automatic";
}

Cut parse_cut(std::string_view text) {
  for (const Cut cut : {Cut::automatic, Cut::start, Cut::windows}) {
    if (to_string(cut) == text) return cut;
  }
  throw UsageError(fmt::format("--cut {}: expected automatic, start or windows", text));
}

void CorpusOptions::validate() const {
  if (text.empty() == tokens.empty()) {
    throw UsageError(
        text.empty()
            ? "--text: expected --text FILE|DIR or --tokens FILE, found neither"
            : fmt::format("--tokens {}: expected --text or --tokens, found both", tokens.string()));
  }
  require_range("--length", length, 2, std::int64_t{1} << 20);
  require_range("--sequences", sequences, 1, 1'000'000'000);
}

Corpus read_corpus(const CorpusOptions& options, const Tokenizer* tokenizer, int vocabulary) {
  options.validate();
  const bool from_text = !options.text.empty();
  const std::filesystem::path& source = from_text ? options.text : options.tokens;
  if (from_text && tokenizer == nullptr) {
    throw Error(source.string() + ": a text needs the model's tokenizer, which is unknown");
  }
  Cut cut = options.cut;
  if (cut == Cut::automatic) {
    const bool one_text =
        from_text && source.extension() == ".txt" && !std::filesystem::is_directory(source);
    cut = one_text ? Cut::windows : Cut::start;
  }
  const BosTokens bos = bos_tokens(options, tokenizer);
  Collector collector(options, cut, bos);
  if (from_text) {
    collect_text(options, *tokenizer, vocabulary, collector);
  } else {
    collect_tokens(options, vocabulary, collector);
  }
  Corpus corpus = collector.take(source);
  corpus.bos = options.bos;
  corpus.bos_policy = in_words(options, tokenizer, bos.put);
  const auto known = tokenizer == nullptr ? std::nullopt : tokenizer->bos();
  corpus.starts_with_bos = known.has_value();
  for (std::size_t i = 0; corpus.starts_with_bos && i < corpus.batch.ids.size();
       i += static_cast<std::size_t>(options.length)) {
    corpus.starts_with_bos = corpus.batch.ids[i] == *known;
  }
  return corpus;
}

TokenBatch shuffle_within(const TokenBatch& batch, std::uint64_t seed, bool keep_first) {
  TokenBatch shuffled = batch;
  for (std::int64_t s = 0; s < batch.sequences(); ++s) {
    RandomStream random(seed, static_cast<std::uint64_t>(s));
    std::int32_t* first = shuffled.ids.data() + s * batch.length + (keep_first ? 1 : 0);
    // Fisher-Yates.
    for (std::int64_t left = batch.length - (keep_first ? 1 : 0); left > 1; --left) {
      std::swap(first[left - 1], first[random.below(static_cast<std::uint32_t>(left))]);
    }
  }
  return shuffled;
}

}  // namespace poslens
