#pragma once
// Characters of UTF-8 texts and the Unicode properties that tokenizers ask for.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace poslens {

// Throws Error, saying at which byte, unless the text is UTF-8.
void require_utf8(std::string_view text);

struct Character {
  std::int32_t code = 0;
  std::size_t bytes = 0;
};
// The character at a byte where one begins; the text is UTF-8.
Character character_at(std::string_view text, std::size_t at);
// The character that ends in front of a byte, which is not the first.
Character character_before(std::string_view text, std::size_t end);
void append_character(std::string& text, std::int32_t code);

bool is_space(std::int32_t code);        // property White_Space
bool is_numeric(std::int32_t code);      // general category N
bool is_punctuation(std::int32_t code);  // ASCII punctuation, symbols among it, or category P
bool is_word(std::int32_t code);         // what \w matches in Rust's regular expressions

// Normal forms of Unicode Standard Annex 15.
enum class NormalForm { nfc, nfd, nfkc, nfkd };
std::string to_normal_form(std::string_view text, NormalForm form);

}  // namespace poslens
