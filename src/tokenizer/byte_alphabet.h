#pragma once
// Byte-level BPE writes each byte as one printable character (Radford et al. 2019, encoder.py):
// 33-126, 161-172 and 174-255 as themselves, the others in ascending order from U+0100 on.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace poslens {

// The bytes that a token's characters stand for; nothing when one stands for no byte or the text is
// no UTF-8.
std::optional<std::string> bytes_of_token(std::string_view token);

// Appends the characters that stand for the bytes.
void append_byte_characters(std::string_view bytes, std::string& text);

}  // namespace poslens
