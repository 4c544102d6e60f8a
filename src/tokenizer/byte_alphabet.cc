#include "tokenizer/byte_alphabet.h"

#include <utf8proc.h>

#include <array>

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

}  // namespace

std::optional<std::string> bytes_of_token(std::string_view token) {
  const auto* at = reinterpret_cast<const utf8proc_uint8_t*>(token.data());
  std::string bytes;
  for (std::size_t offset = 0; offset < token.size();) {
    utf8proc_int32_t character = 0;
    const auto length = utf8proc_iterate(
        at + offset, static_cast<utf8proc_ssize_t>(token.size() - offset), &character);
    if (length <= 0 || character >= kCharacters) return std::nullopt;
    const int byte = kByteOf[static_cast<std::size_t>(character)];
    if (byte < 0) return std::nullopt;
    bytes += static_cast<char>(byte);
    offset += static_cast<std::size_t>(length);
  }
  return bytes;
}

}  // namespace poslens
