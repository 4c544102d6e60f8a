#pragma once
// Little-endian values from bytes that need not be aligned.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "checkpoint/half.h"

namespace poslens {

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

inline float load_half(const std::byte* from) { return half_to_float(load<std::uint16_t>(from)); }

template <std::size_t count>
std::array<std::uint8_t, count> load_bytes(const std::byte* from) {
  return load<std::array<std::uint8_t, count>>(from);
}

}  // namespace poslens
