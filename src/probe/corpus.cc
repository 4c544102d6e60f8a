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

// Collects sequences until there are enough.
class Collector {
 public:
  // bos: the token in front of every sequence, if any.
  Collector(const CorpusOptions& options, Cut cut, std::optional<std::int32_t> bos)
      : options_(options), bos_(bos) {
    corpus_.batch.length = options.length;
    corpus_.cut = cut;
  }

  bool full() const { return missing() == 0; }

  // How many tokens of the next document can be used.
  std::int64_t wanted() const {
    return corpus_.cut == Cut::start ? places() : missing() * places();
  }

  void add(std::span<const std::int32_t> document) {
    const auto size = static_cast<std::size_t>(places());
    if (document.size() < size) {
      ++corpus_.documents_skipped;
      return;
    }
    ++corpus_.documents_used;
    do {
      Ids& ids = corpus_.batch.ids;
      if (bos_) ids.push_back(*bos_);
      ids.insert(ids.end(), document.begin(), document.begin() + places());
      document = document.subspan(size);
    } while (corpus_.cut == Cut::windows && !full() && document.size() >= size);
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
  std::int64_t places() const { return options_.length - (bos_ ? 1 : 0); }
  std::int64_t missing() const { return options_.sequences - corpus_.batch.sequences(); }

  const CorpusOptions& options_;
  std::optional<std::int32_t> bos_;
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

// The first `wanted` ids of a document (fewer if it is shorter), reading little more of it than
// that takes. Ids close to the end of the part that was read may differ from those of the whole
// document, so some more are asked for than used.
Ids encode_first(const DocumentReader& document, const Tokenizer& tokenizer, std::size_t wanted) {
  constexpr std::size_t kMargin = 64;
  for (std::size_t limit = 8 * wanted + 4096;; limit *= 4) {
    std::string text = document.prefix(limit);
    const bool whole = text.size() < limit;
    if (!whole) text.resize(safe_end(text));
    Ids ids;
    try {
      ids = tokenizer.encode(text);
    } catch (const Error& error) {
      throw Error(document.where() + ": " + error.what());
    }
    if (!whole && ids.size() < wanted + kMargin) continue;
    ids.resize(std::min(ids.size(), wanted));
    return ids;
  }
}

void collect_text(const CorpusOptions& options, const Tokenizer& tokenizer, int vocabulary,
                  Collector& collector) {
  DocumentReader documents(options.text);
  while (!collector.full() && documents.next()) {
    const Ids ids =
        encode_first(documents, tokenizer, static_cast<std::size_t>(collector.wanted()));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0 || ids[i] >= vocabulary) {
        refuse_id(documents.where(), i, vocabulary, std::to_string(ids[i]));
      }
    }
    collector.add(ids);
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

void collect_tokens(const CorpusOptions& options, std::optional<std::int32_t> strip, int vocabulary,
                    Collector& collector) {
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
    const Ids ids = read_row(rows[i], vocabulary, fmt::format("{}: row {}", path, i));
    std::span<const std::int32_t> row(ids);
    if (strip && !row.empty() && row.front() == *strip) row = row.subspan(1);
    collector.add(row);
  }
}

// The BOS token that the options ask for: to be put in front (`put`) or taken off.
std::optional<std::int32_t> bos_token(const std::string& source, const Tokenizer* tokenizer,
                                      bool put) {
  if (tokenizer == nullptr) {
    throw Error(source + ": bos=none and bos=force need the model's tokenizer, which is unknown");
  }
  if (put && !tokenizer->bos()) {
    throw Error(source + ": a BOS token is asked for, and the model's tokenizer names none");
  }
  return tokenizer->bos();
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
  std::optional<std::int32_t> bos;  // in front of every sequence
  if (options.bos == BosPolicy::force ||
      (options.bos == BosPolicy::file && from_text && tokenizer->adds_bos())) {
    bos = bos_token(source.string(), tokenizer, true);
  }
  Collector collector(options, cut, bos);
  if (from_text) {
    collect_text(options, *tokenizer, vocabulary, collector);
  } else {
    // The BOS that the rows have goes, whether none is wanted or one for every sequence.
    std::optional<std::int32_t> strip;
    if (options.bos != BosPolicy::file) strip = bos_token(source.string(), tokenizer, false);
    collect_tokens(options, strip, vocabulary, collector);
  }
  Corpus corpus = collector.take(source);
  corpus.bos = options.bos;
  corpus.bos_policy = in_words(options, tokenizer, bos);
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
