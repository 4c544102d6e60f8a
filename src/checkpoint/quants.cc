// Types with blocks of 32 elements.

#include "checkpoint/quants.h"

#include <bit>

#include "checkpoint/blocks.h"
#include "checkpoint/bytes.h"
#include "checkpoint/nibble_values.h"

namespace poslens {
namespace {

constexpr int kBlock = 32;
constexpr int kHalf = kBlock / 2;

// Byte i holds element i in its low four bits and element i + 16 in its high four.
void expand_nibbles(const std::byte* packed, float scale, int offset, float minimum, float* out) {
  const auto quants = load_bytes<kHalf>(packed);
  for (int i = 0; i < kHalf; ++i) {
    out[i] = scale * static_cast<float>((quants[i] & 15) - offset) + minimum;
    out[i + kHalf] = scale * static_cast<float>((quants[i] >> 4) - offset) + minimum;
  }
}

// The same with a fifth bit of element i in bit i of the four bytes in front.
void expand_fives(const std::byte* packed, float scale, int offset, float minimum, float* out) {
  const auto high = load<std::uint32_t>(packed);
  const auto quants = load_bytes<kHalf>(packed + 4);
  for (int i = 0; i < kHalf; ++i) {
    const int low = (quants[i] & 15) | static_cast<int>(high >> i << 4 & 16);
    const int upper = quants[i] >> 4 | static_cast<int>(high >> (i + kHalf) << 4 & 16);
    out[i] = scale * static_cast<float>(low - offset) + minimum;
    out[i + kHalf] = scale * static_cast<float>(upper - offset) + minimum;
  }
}

// Where there is no minimum, -0 keeps the sign of a product that is -0.
constexpr float kNone = -0.0f;

}  // namespace

void expand_q4_0(const std::byte* from, std::int64_t elements, float* out) {
  for_blocks<kBlock, 18>(from, elements, out, [](const std::byte* block, float* to) {
    expand_nibbles(block + 2, load_half(block), 8, kNone, to);
  });
}

void expand_q4_1(const std::byte* from, std::int64_t elements, float* out) {
  for_blocks<kBlock, 20>(from, elements, out, [](const std::byte* block, float* to) {
    expand_nibbles(block + 4, load_half(block), 0, load_half(block + 2), to);
  });
}

void expand_q5_0(const std::byte* from, std::int64_t elements, float* out) {
  for_blocks<kBlock, 22>(from, elements, out, [](const std::byte* block, float* to) {
    expand_fives(block + 2, load_half(block), 16, kNone, to);
  });
}

void expand_q5_1(const std::byte* from, std::int64_t elements, float* out) {
  for_blocks<kBlock, 24>(from, elements, out, [](const std::byte* block, float* to) {
    expand_fives(block + 4, load_half(block), 0, load_half(block + 2), to);
  });
}

void expand_q8_0(const std::byte* from, std::int64_t elements, float* out) {
  for_blocks<kBlock, 34>(from, elements, out, [](const std::byte* block, float* to) {
    const float scale = load_half(block);
    const auto quants = load_bytes<kBlock>(block + 2);
    for (int i = 0; i < kBlock; ++i) {
      to[i] = scale * static_cast<float>(std::bit_cast<std::int8_t>(quants[i]));
    }
  });
}

void expand_iq4_nl(const std::byte* from, std::int64_t elements, float* out) {
  for_blocks<kBlock, 18>(from, elements, out, [](const std::byte* block, float* to) {
    expand_nibble_values(block + 2, load_half(block), to);
  });
}

}  // namespace poslens
