#include "tokenizer/added_tokens.h"

#include <utility>

#include "tokenizer/characters.h"

namespace poslens {
namespace {

// Whether a word goes on at either end of the range.
bool is_inside_word(std::string_view text, std::size_t start, std::size_t end) {
  return (start > 0 && is_word(character_before(text, start).code)) ||
         (end < text.size() && is_word(character_at(text, end).code));
}

std::size_t skip_space_left(std::string_view text, std::size_t start, std::size_t least) {
  while (start > least) {
    const Character character = character_before(text, start);
    if (!is_space(character.code)) break;
    start -= character.bytes;
  }
  return start;
}

std::size_t skip_space_right(std::string_view text, std::size_t end) {
  while (end < text.size()) {
    const Character character = character_at(text, end);
    if (!is_space(character.code)) break;
    end += character.bytes;
  }
  return end;
}

}  // namespace

void AddedTokens::add(AddedToken token) {
  std::size_t node = 0;
  for (const char byte : token.text) {
    const auto [place, is_new] = nodes_[node].next.emplace(byte, nodes_.size());
    node = place->second;
    if (is_new) nodes_.emplace_back();
  }
  if (nodes_[node].token != 0) return;
  tokens_.push_back(std::move(token));
  nodes_[node].token = tokens_.size();
}

const AddedToken* AddedTokens::find(std::string_view text, std::size_t at) const {
  const AddedToken* longest = nullptr;
  std::size_t node = 0;
  for (; at < text.size(); ++at) {
    const auto place = nodes_[node].next.find(text[at]);
    if (place == nodes_[node].next.end()) break;
    node = place->second;
    if (nodes_[node].token != 0) longest = &tokens_[nodes_[node].token - 1];
  }
  return longest;
}

void AddedTokens::split(std::string_view text, bool with_special,
                        const std::function<void(std::string_view, std::int32_t)>& visit) const {
  std::size_t done = 0;
  for (std::size_t at = 0; !tokens_.empty() && at < text.size();) {
    const AddedToken* token = find(text, at);
    if (token == nullptr) {
      ++at;
      continue;
    }
    // A token that does not count hides what starts inside of it, as with Hugging Face.
    std::size_t start = at;
    std::size_t end = at + token->text.size();
    at = end;
    if (token->special && !with_special) continue;
    if (token->single_word && is_inside_word(text, start, end)) continue;
    if (token->strips_left) start = skip_space_left(text, start, done);
    if (token->strips_right) end = skip_space_right(text, end);
    if (start > done) visit(text.substr(done, start - done), kNoToken);
    visit(text.substr(start, end - start), token->id);
    done = end;
  }
  if (done < text.size()) visit(text.substr(done), kNoToken);
}

}  // namespace poslens
