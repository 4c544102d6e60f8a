#pragma once
// The sixteen values that IQ4_NL and IQ4_XS have for four bits.

#include "checkpoint/bytes.h"

namespace poslens {

// 32 elements: byte i holds element i in its low four bits and element i + 16 in its high four.
inline void expand_nibble_values(const std::byte* packed, float scale, float* out) {
  constexpr int kHalf = 16;
  constexpr std::array<float, 16> kValues = {-127, -104, -83, -65, -49, -35, -22, -10,
                                             1,    13,   25,  38,  53,  69,  89,  113};
  const auto quants = load_bytes<kHalf>(packed);
  for (int i = 0; i < kHalf; ++i) {
    out[i] = scale * kValues[quants[i] & 15];
    out[i + kHalf] = scale * kValues[quants[i] >> 4];
  }
}

}  // namespace poslens
