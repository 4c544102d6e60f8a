#include "tokenizer/byte_alphabet.h"

#include <array>

#include "tokenizer/characters.h"

namespace poslens {
namespace {

constexpr int kCharacters = 256 + 68;  // 188 bytes as themselves, 68 from U+0100 on

// character -> byte, -1 where none is meant.
constexpr std::array<int, kCharacters> make_table() {
  std::array<int, kCharacters> table{};
  table.fill(-1);
  int next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool itself = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
    table[static_cast<std::size_t>(itself ? byte : next++)] = byte;
  }
  return table;
}
constexpr std::array<int, kCharacters> kByteOf = make_table();

std::array<std::string, 256> make_texts() {
  std::array<std::string, 256> texts;
  for (int code = 0; code < kCharacters; ++code) {
    const int byte = kByteOf[static_cast<std::size_t>(code)];
    if (byte >= 0) append_character(texts[static_cast<std::size_t>(byte)], code);
  }
  return texts;
}

}  // namespace

void append_byte_characters(std::string_view bytes, std::string& text) {
  static const std::array<std::string, 256> kTextOf = make_texts();
  for (const char byte : bytes) text += kTextOf[static_cast<unsigned char>(byte)];
}

std::optional<std::string> bytes_of_token(std::string_view token) {
  std::string bytes;
  for (std::size_t offset = 0; offset < token.size();) {
    const Character character = character_at(token, offset);
    if (character.bytes == 0 || character.code >= kCharacters) return std::nullopt;
    const int byte = kByteOf[static_cast<std::size_t>(character.code)];
    if (byte < 0) return std::nullopt;
    bytes += static_cast<char>(byte);
    offset += character.bytes;
  }
  return bytes;
}

}  // namespace poslens
