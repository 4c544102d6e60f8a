#include "checkpoint/printable.h"

#include <fmt/format.h>

namespace poslens {

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string result = "'";
  for (const char character : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(character);
    result += byte < 0x20 || byte >= 0x7f ? fmt::format("\\x{:02x}", byte) : std::string{character};
  }
  return result + (text.size() > kLongest ? "…'" : "'");
}

}  // namespace poslens
