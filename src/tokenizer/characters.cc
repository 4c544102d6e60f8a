#include "tokenizer/characters.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "poslens/error.h"

namespace poslens {
namespace {

const utf8proc_uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const utf8proc_uint8_t*>(text.data());
}

struct Free {
  void operator()(utf8proc_uint8_t* bytes) const {
    std::free(bytes);  // NOLINT(cppcoreguidelines-no-malloc): utf8proc_map gives it away
  }
};

utf8proc_option_t options_of(NormalForm form) {
  switch (form) {
    case NormalForm::nfc:
      return UTF8PROC_COMPOSE;
    case NormalForm::nfd:
      return UTF8PROC_DECOMPOSE;
    case NormalForm::nfkc:
      return static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
    case NormalForm::nfkd:
      break;
  }
  return static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
}

}  // namespace

void require_utf8(std::string_view text) {
  for (std::size_t offset = 0; offset < text.size();) {
    const Character character = character_at(text, offset);
    if (character.bytes == 0) {
      throw Error(
          fmt::format("text: expected UTF-8, found another byte sequence at byte {}", offset));
    }
    offset += character.bytes;
  }
}

Character character_at(std::string_view text, std::size_t at) {
  utf8proc_int32_t code = 0;
  const auto bytes =
      utf8proc_iterate(bytes_of(text) + at, static_cast<utf8proc_ssize_t>(text.size() - at), &code);
  if (bytes <= 0) return {-1, 0};
  return {code, static_cast<std::size_t>(bytes)};
}

Character character_before(std::string_view text, std::size_t end) {
  std::size_t start = end - 1;
  while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xc0) == 0x80) --start;
  return character_at(text, start);
}

void append_character(std::string& text, std::int32_t code) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const auto length = utf8proc_encode_char(code, bytes.data());
  for (utf8proc_ssize_t i = 0; i < length; ++i) {
    text += static_cast<char>(bytes[static_cast<std::size_t>(i)]);
  }
}

bool is_space(std::int32_t code) {
  return (code >= 9 && code <= 13) || code == 0x85 ||
         (utf8proc_category(code) >= UTF8PROC_CATEGORY_ZS &&
          utf8proc_category(code) <= UTF8PROC_CATEGORY_ZP);
}

bool is_numeric(std::int32_t code) {
  const auto category = utf8proc_category(code);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool is_punctuation(std::int32_t code) {
  constexpr std::string_view kAsciiSymbols = "$+<=>^`|~";
  if (code > 0 && code < 128 && kAsciiSymbols.find(static_cast<char>(code)) != kAsciiSymbols.npos) {
    return true;
  }
  const auto category = utf8proc_category(code);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool is_word(std::int32_t code) {
  const auto category = utf8proc_category(code);
  if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL) return true;
  // Joiners, and the letters that are symbols by category: circled and squared ones.
  return category == UTF8PROC_CATEGORY_PC || code == 0x200c || code == 0x200d ||
         (code >= 0x24b6 && code <= 0x24e9) || (code >= 0x1f130 && code <= 0x1f149) ||
         (code >= 0x1f150 && code <= 0x1f169) || (code >= 0x1f170 && code <= 0x1f189);
}

std::string to_normal_form(std::string_view text, NormalForm form) {
  const bool ascii =
      std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (ascii) return std::string(text);
  utf8proc_uint8_t* result = nullptr;
  const auto length =
      utf8proc_map(bytes_of(text), static_cast<utf8proc_ssize_t>(text.size()), &result,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | options_of(form)));
  if (length < 0) throw Error(fmt::format("text: {}", utf8proc_errmsg(length)));
  const std::unique_ptr<utf8proc_uint8_t, Free> owner(result);
  return {reinterpret_cast<const char*>(result), static_cast<std::size_t>(length)};
}

}  // namespace poslens
