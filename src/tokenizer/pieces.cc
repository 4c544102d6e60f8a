#include "tokenizer/pieces.h"

#include <algorithm>
#include <utility>

#include "tokenizer/characters.h"

namespace poslens {
namespace {

// Joins cuts as the behaviour says; all that are left are pieces, but for those that are removed.
void join(std::vector<Cut>& cuts, Behaviour behaviour) {
  std::vector<Cut> joined;
  bool previous = false;  // whether the part in front was a match
  const auto forward = [&](auto&& belongs_to_last) {
    for (const Cut& cut : cuts) {
      if (!joined.empty() && belongs_to_last(cut)) {
        joined.back().end = cut.end;
      } else {
        joined.push_back(cut);
      }
      previous = cut.is_match;
    }
    cuts.swap(joined);
  };
  switch (behaviour) {
    case Behaviour::removed:
    case Behaviour::isolated:
      return;
    case Behaviour::merged_with_previous:
      return forward([&](const Cut& cut) { return cut.is_match && !previous; });
    case Behaviour::contiguous:
      return forward([&](const Cut& cut) { return cut.is_match == previous; });
    case Behaviour::merged_with_next:
      // A match goes to the part behind it, unless that is a match too.
      for (std::size_t i = 0; i < cuts.size(); ++i) {
        const bool goes_on = cuts[i].is_match && i + 1 < cuts.size() && !cuts[i + 1].is_match;
        if (!goes_on) joined.push_back(cuts[i]);
      }
      cuts.swap(joined);
  }
}

}  // namespace

void rewrite_pieces(Pieces& pieces,
                    const std::function<void(std::string_view, bool, std::string&)>& rewrite) {
  const std::string text = std::exchange(pieces.text, {});
  std::size_t start = 0;
  for (std::size_t& end : pieces.ends) {
    rewrite(std::string_view{text}.substr(start, end - start), start == 0, pieces.text);
    start = std::exchange(end, pieces.text.size());
  }
}

Cutter cut_at_matches(std::shared_ptr<const Regex> regex) {
  return [regex = std::move(regex)](std::string_view piece, std::vector<Cut>& cuts) {
    std::size_t end = 0;
    regex->find_all(piece, [&](Regex::Range match) {
      if (match.start > end) cuts.push_back({match.start, false});
      cuts.push_back({match.end, true});
      end = match.end;
    });
    if (end < piece.size()) cuts.push_back({piece.size(), false});
  };
}

Cutter cut_at_text(std::string text) {
  return [text = std::move(text)](std::string_view piece, std::vector<Cut>& cuts) {
    std::size_t end = 0;
    for (std::size_t at = piece.find(text); at != piece.npos; at = piece.find(text, end)) {
      if (at > end) cuts.push_back({at, false});
      end = at + text.size();
      cuts.push_back({end, true});
    }
    if (end < piece.size()) cuts.push_back({piece.size(), false});
  };
}

Cutter cut_at_characters(bool (*is_match)(std::int32_t)) {
  return [is_match](std::string_view piece, std::vector<Cut>& cuts) {
    for (std::size_t at = 0; at < piece.size();) {
      const Character character = character_at(piece, at);
      at += character.bytes;
      const bool match = is_match(character.code);
      if (!match && !cuts.empty() && !cuts.back().is_match) {
        cuts.back().end = at;
      } else {
        cuts.push_back({at, match});
      }
    }
  };
}

void split_pieces(Pieces& pieces, const Cutter& cutter, Behaviour behaviour, bool invert) {
  const std::string text = std::exchange(pieces.text, {});
  const std::vector<std::size_t> ends = std::exchange(pieces.ends, {});
  std::vector<Cut> cuts;
  std::size_t start = 0;
  for (const std::size_t end : ends) {
    const std::string_view piece = std::string_view{text}.substr(start, end - start);
    cuts.clear();
    cutter(piece, cuts);
    if (invert) {
      for (Cut& cut : cuts) cut.is_match = !cut.is_match;
    }
    join(cuts, behaviour);
    std::size_t from = 0;
    for (const Cut& cut : cuts) {
      if (!(behaviour == Behaviour::removed && cut.is_match)) {
        if (pieces.ends.empty()) pieces.at_start = pieces.at_start && start + from == 0;
        pieces.text += piece.substr(from, cut.end - from);
        pieces.ends.push_back(pieces.text.size());
      }
      from = cut.end;
    }
    start = end;
  }
}

}  // namespace poslens
