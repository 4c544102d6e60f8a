#pragma once
// A text cut into the pieces within which byte-pair merges happen, and the ways to cut.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/regex.h"

namespace poslens {

struct Pieces {
  std::string text;
  std::vector<std::size_t> ends;  // of the pieces; none is empty
  bool at_start = true;           // the first piece begins where the whole text begins

  explicit Pieces(std::string whole, bool starts) : text(std::move(whole)), at_start(starts) {
    if (!text.empty()) ends.push_back(text.size());
  }
};

// Replaces every piece by what rewrite appends to its second argument.
void rewrite_pieces(
    Pieces& pieces,
    const std::function<void(std::string_view piece, bool is_first, std::string&)>& rewrite);

// A part of a piece, from the end of the part in front of it.
struct Cut {
  std::size_t end;
  bool is_match;
};
// Appends the parts of a piece, in order, without gaps.
using Cutter = std::function<void(std::string_view, std::vector<Cut>&)>;
Cutter cut_at_matches(std::shared_ptr<const Regex> regex);
Cutter cut_at_text(std::string text);  // not empty
// Each character for which is_match holds is a match of its own.
Cutter cut_at_characters(bool (*is_match)(std::int32_t));

// What becomes of matches: Hugging Face's SplitDelimiterBehavior.
enum class Behaviour { removed, isolated, merged_with_previous, merged_with_next, contiguous };
void split_pieces(Pieces& pieces, const Cutter& cutter, Behaviour behaviour, bool invert);

}  // namespace poslens
