#pragma once
// 16-bit floating-point formats to f32, exactly, in integer and f32 arithmetic that any processor
// has and that flushing of subnormals does not touch.

#include <bit>
#include <cstdint>

namespace poslens {

// IEEE 754 binary16, with subnormals, infinities and NaN (payload kept).
inline float half_to_float(std::uint16_t half) {
  // f32 has 13 more bits of mantissa, and an exponent bias larger by 127 - 15 = 112.
  const std::uint32_t magnitude = static_cast<std::uint32_t>(half & 0x7fffu) << 13;
  const std::uint32_t exponent = magnitude & 0x0f800000u;
  std::uint32_t bits = magnitude + (112u << 23);
  if (exponent == 0x0f800000u) bits += 112u << 23;  // infinity or NaN: the top exponent stays so
  if (exponent == 0) {
    // 2^-14 * (1 + m) - 2^-14 leaves the subnormal's value 2^-14 * m.
    bits = std::bit_cast<std::uint32_t>(std::bit_cast<float>(bits + (1u << 23)) - 0x1p-14f);
  }
  return std::bit_cast<float>(bits | static_cast<std::uint32_t>(half & 0x8000u) << 16);
}

// The upper half of an f32.
inline float bfloat16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace poslens
