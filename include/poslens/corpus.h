#pragma once
// Text or token files to sequences of equal length.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "poslens/decoder.h"
#include "poslens/tokenizer.h"

namespace poslens {

enum class Cut {
  automatic,  // windows for a single .txt file, start otherwise
  start,      // the first tokens of each document
  windows,    // consecutive windows of each document; a shorter rest is dropped
};
std::string to_string(Cut cut);
Cut parse_cut(std::string_view text);  // automatic, start, windows; throws UsageError

// A document is a .txt file, a line of a .jsonl file or a row of token ids. It is read only as far
// as its tokens are needed.
//
// BOS: as the file's tokenizer does it, never, or always. A BOS takes one of the `length` places of
// every sequence, windows included: what the model sees starts with it, and never with two: those
// that a text spells or token ids have in front of a sequence go first. `none` takes them off, too.
// Token ids are taken as they are under `file`.
struct CorpusOptions {
  std::filesystem::path text;    // a .txt or .jsonl file, or a folder of them (recursive, sorted)
  std::filesystem::path tokens;  // a JSON file {"tokens": [[...], ...]}; exactly one of the two
  std::int64_t length = 512;     // tokens of a sequence, >= 2
  std::int64_t sequences = 16;   // how many are wanted
  Cut cut = Cut::automatic;
  BosPolicy bos = BosPolicy::file;

  // Throws UsageError naming the option, the value and what is allowed.
  void validate() const;
};

struct Corpus {
  TokenBatch batch;
  std::int64_t documents_used = 0;
  std::int64_t documents_skipped = 0;  // too short
  std::string source;                  // the path, for provenance
  Cut cut = Cut::start;                // never automatic
  BosPolicy bos = BosPolicy::file;     // what was asked for
  std::string bos_policy;              // in words: what the file says and what was done
  bool starts_with_bos = false;        // every sequence does
  std::string fingerprint;             // hash of the ids
};

// Reads as many documents as the wanted sequences need, and gives exactly that many sequences.
// tokenizer may be null when tokens are given; `file` is then the only BOS policy. Throws Error
// naming the file (and line) that is wrong; when fewer sequences come out than wanted, it says how
// many there are.
Corpus read_corpus(const CorpusOptions& options, const Tokenizer* tokenizer, int vocabulary);

// Each sequence's tokens in a random order of its own: the same for the same seed. A BOS token in
// front (keep_first) stays where it is.
TokenBatch shuffle_within(const TokenBatch& batch, std::uint64_t seed, bool keep_first);

}  // namespace poslens
