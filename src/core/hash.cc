#include "poslens/hash.h"

#include <fmt/format.h>

namespace poslens {

Hash& Hash::add(std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) {
    value_ = (value_ ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
  }
  return *this;
}

std::string Hash::hex() const { return fmt::format("{:016x}", value_); }

}  // namespace poslens
