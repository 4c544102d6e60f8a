// Types with blocks of 256 elements. In most of them byte l of 32 holds element l of several
// sub-blocks of 32 ("strips"), each in bits of its own.

#include <bit>

#include "checkpoint/blocks.h"
#include "checkpoint/bytes.h"
#include "checkpoint/nibble_values.h"
#include "checkpoint/quants.h"

namespace poslens {
namespace {

constexpr int kBlock = 256;
constexpr int kStrip = 32;
constexpr int kStrips = kBlock / kStrip;

// Q4_K and Q5_K: scale and minimum of each strip, six bits both. Bytes 0-3 and 4-7 hold those of
// strips 0-3 and, in their upper two bits, the upper two of strips 4-7; bytes 8-11 the lower four
// of strips 4-7, scales low and minima high.
struct SixBits {
  std::array<int, kStrips> scale;
  std::array<int, kStrips> minimum;

  explicit SixBits(const std::byte* packed) {
    const auto bytes = load_bytes<12>(packed);
    for (int i = 0; i < 4; ++i) {
      scale[i] = bytes[i] & 63;
      minimum[i] = bytes[4 + i] & 63;
      scale[4 + i] = (bytes[8 + i] & 15) | (bytes[i] >> 6 << 4);
      minimum[4 + i] = bytes[8 + i] >> 4 | (bytes[4 + i] >> 6 << 4);
    }
  }
};

// Scales of Q3_K: sixteen of six bits. Byte i < 8 holds the lower four of scales i and 8 + i, byte
// 8 + i the upper two of scales i, 4 + i, 8 + i and 12 + i. All are 32 too large.
std::array<int, 16> q3_k_scales(const std::byte* packed) {
  const auto bytes = load_bytes<12>(packed);
  std::array<int, 16> scales;
  for (int i = 0; i < 16; ++i) {
    const int low = i < 8 ? bytes[i] & 15 : bytes[i - 8] >> 4;
    const int high = bytes[8 + i % 4] >> (2 * (i / 4)) & 3;
    scales[i] = (low | high << 4) - 32;
  }
  return scales;
}

// 16 scales (low bits) and minima (high), 256 quants of two bits, the scale of both.
void expand_q2_k_block(const std::byte* block, float* out) {
  const auto scales = load_bytes<16>(block);
  const auto quants = load_bytes<64>(block + 16);
  const float scale = load_half(block + 80), minimum = load_half(block + 82);
  for (int i = 0; i < kBlock; ++i) {
    const int strip = i / kStrip;
    const int quant = quants[strip / 4 * kStrip + i % kStrip] >> (strip % 4 * 2) & 3;
    const auto of_sixteen = scales[i / 16];
    out[i] = scale * static_cast<float>(of_sixteen & 15) * static_cast<float>(quant) -
             minimum * static_cast<float>(of_sixteen >> 4);
  }
}

// A third bit of each quant, 256 lower two bits, 16 scales, their scale.
void expand_q3_k_block(const std::byte* block, float* out) {
  const auto high = load_bytes<kStrip>(block);
  const auto quants = load_bytes<64>(block + 32);
  const auto scales = q3_k_scales(block + 96);
  const float scale = load_half(block + 108);
  for (int i = 0; i < kBlock; ++i) {
    const int strip = i / kStrip;
    const int low = quants[strip / 4 * kStrip + i % kStrip] >> (strip % 4 * 2) & 3;
    const int quant = low + (high[i % kStrip] >> strip & 1) * 4 - 4;
    out[i] = scale * static_cast<float>(scales[i / 16]) * static_cast<float>(quant);
  }
}

// Scale, scale of the minima, both of each strip, 256 quants of four bits.
void expand_q4_k_block(const std::byte* block, float* out) {
  const float scale = load_half(block), minimum = load_half(block + 2);
  const SixBits strips(block + 4);
  for (int strip = 0; strip < kStrips; ++strip, out += kStrip) {
    const auto quants = load_bytes<kStrip>(block + 16 + strip / 2 * kStrip);
    const float of_strip = scale * static_cast<float>(strips.scale[strip]);
    const float least = minimum * static_cast<float>(strips.minimum[strip]);
    for (int i = 0; i < kStrip; ++i) {
      const int quant = quants[i] >> (strip % 2 * 4) & 15;
      out[i] = of_strip * static_cast<float>(quant) - least;
    }
  }
}

// The same with a fifth bit of strip s in bit s of 32 bytes before the quants.
void expand_q5_k_block(const std::byte* block, float* out) {
  const float scale = load_half(block), minimum = load_half(block + 2);
  const SixBits strips(block + 4);
  const auto high = load_bytes<kStrip>(block + 16);
  for (int strip = 0; strip < kStrips; ++strip, out += kStrip) {
    const auto quants = load_bytes<kStrip>(block + 48 + strip / 2 * kStrip);
    const float of_strip = scale * static_cast<float>(strips.scale[strip]);
    const float least = minimum * static_cast<float>(strips.minimum[strip]);
    for (int i = 0; i < kStrip; ++i) {
      const int quant = (quants[i] >> (strip % 2 * 4) & 15) | (high[i] >> strip & 1) << 4;
      out[i] = of_strip * static_cast<float>(quant) - least;
    }
  }
}

// 256 lower four bits (64 bytes hold strips 0 and 1 low, 2 and 3 high), 256 upper two, 16 scales,
// their scale.
void expand_q6_k_block(const std::byte* block, float* out) {
  const auto scales = load<std::array<std::int8_t, 16>>(block + 192);
  const float scale = load_half(block + 208);
  for (int strip = 0; strip < kStrips; ++strip, out += kStrip) {
    const int half = strip / 4, quarter = strip % 4;
    const auto low = load_bytes<kStrip>(block + half * 64 + quarter % 2 * kStrip);
    const auto high = load_bytes<kStrip>(block + 128 + half * kStrip);
    for (int i = 0; i < kStrip; ++i) {
      const int quant = (low[i] >> (quarter / 2 * 4) & 15) | (high[i] >> (quarter * 2) & 3) << 4;
      const float of_sixteen = scale * static_cast<float>(scales[strip * 2 + i / 16]);
      out[i] = of_sixteen * static_cast<float>(quant - 32);
    }
  }
}

// Scale, upper two bits and lower four of the eight strips' scales, 256 quants of four bits.
void expand_iq4_xs_block(const std::byte* block, float* out) {
  const float scale = load_half(block);
  const auto high = load<std::uint16_t>(block + 2);
  const auto low = load_bytes<4>(block + 4);
  for (int strip = 0; strip < kStrips; ++strip) {
    const int of_strip = (low[strip / 2] >> (strip % 2 * 4) & 15) | (high >> (strip * 2) & 3) << 4;
    expand_nibble_values(block + 8 + strip * 16, scale * static_cast<float>(of_strip - 32),
                         out + strip * kStrip);
  }
}

}  // namespace

void expand_q2_k(const std::byte* from, std::int64_t elements, float* out) {
  for_blocks<kBlock, 84>(from, elements, out, expand_q2_k_block);
}

void expand_q3_k(const std::byte* from, std::int64_t elements, float* out) {
  for_blocks<kBlock, 110>(from, elements, out, expand_q3_k_block);
}

void expand_q4_k(const std::byte* from, std::int64_t elements, float* out) {
  for_blocks<kBlock, 144>(from, elements, out, expand_q4_k_block);
}

void expand_q5_k(const std::byte* from, std::int64_t elements, float* out) {
  for_blocks<kBlock, 176>(from, elements, out, expand_q5_k_block);
}

void expand_q6_k(const std::byte* from, std::int64_t elements, float* out) {
  for_blocks<kBlock, 210>(from, elements, out, expand_q6_k_block);
}

void expand_iq4_xs(const std::byte* from, std::int64_t elements, float* out) {
  for_blocks<kBlock, 136>(from, elements, out, expand_iq4_xs_block);
}

}  // namespace poslens
