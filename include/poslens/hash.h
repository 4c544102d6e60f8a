#pragma once
// A hash that names files and token ids in artefacts: for telling them apart, not for security.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace poslens {

// FNV-1a, 64 bits (Fowler, Noll, Vo), over bytes given piece by piece.
class Hash {
 public:
  Hash& add(std::span<const std::byte> bytes);
  std::uint64_t value() const { return value_; }
  // 16 hexadecimal digits.
  std::string hex() const;

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace poslens
