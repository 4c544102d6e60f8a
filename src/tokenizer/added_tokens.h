#pragma once
// Tokens that are looked for in the text before anything else.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/vocabulary.h"

namespace poslens {

// As tokenizer.json describes them.
struct AddedToken {
  std::int32_t id = kNoToken;
  std::string text{};         // what is looked for
  bool special = false;       // not looked for where special tokens are text like any other
  bool single_word = false;   // only where no word goes on on either side
  bool strips_left = false;   // takes the white space in front with it
  bool strips_right = false;  // takes the white space behind with it
};

class AddedTokens {
 public:
  // The first of two with the same text is the one that is found. The text is not empty.
  void add(AddedToken token);

  // Cuts text into what is no added token, given with kNoToken, and those that are, given with
  // their ids: the leftmost first, the longest of those that start at the same place.
  void split(std::string_view text, bool with_special,
             const std::function<void(std::string_view, std::int32_t)>& visit) const;

 private:
  struct Node {
    std::map<char, std::size_t> next;
    std::size_t token = 0;  // in tokens_, plus 1
  };
  // The longest token that starts at a byte; nullptr when there is none.
  const AddedToken* find(std::string_view text, std::size_t at) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_{1};
};

}  // namespace poslens
