#include <array>
#include <cstring>
#include <stdexcept>

#include "checkpoint/half.h"
#include "poslens/checkpoint.h"

namespace poslens {
namespace {

std::uint16_t load16(const std::byte* from) {
  std::uint16_t value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

void expand_f16(const std::byte* from, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = half_to_float(load16(from + 2 * i));
}

void expand_bf16(const std::byte* from, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = bfloat16_to_float(load16(from + 2 * i));
}

// The blocks below are ggml's: 32 elements share a scale d, and a minimum m where there is one.
// Products d * q are exact in f32 (11 + 8 bits at most), so that a fused multiply-add changes
// nothing.
constexpr int kBlock = 32;

void expand_q8_0(const std::byte* block, float* out) {
  const float scale = half_to_float(load16(block));
  std::array<std::int8_t, kBlock> quants;
  std::memcpy(quants.data(), block + 2, quants.size());
  for (int i = 0; i < kBlock; ++i) out[i] = scale * static_cast<float>(quants[i]);
}

// Byte i holds element i in its low four bits and element i + 16 in its high four.
void expand_nibbles(const std::byte* packed, float scale, int offset, float minimum, float* out) {
  std::array<std::uint8_t, kBlock / 2> quants;
  std::memcpy(quants.data(), packed, quants.size());
  for (int i = 0; i < kBlock / 2; ++i) {
    out[i] = scale * static_cast<float>((quants[i] & 15) - offset) + minimum;
    out[i + kBlock / 2] = scale * static_cast<float>((quants[i] >> 4) - offset) + minimum;
  }
}

void expand_q4_0(const std::byte* block, float* out) {
  // A minimum of -0 keeps the sign of a product that is -0.
  expand_nibbles(block + 2, half_to_float(load16(block)), 8, -0.0f, out);
}

void expand_q4_1(const std::byte* block, float* out) {
  expand_nibbles(block + 4, half_to_float(load16(block)), 0, half_to_float(load16(block + 2)), out);
}

template <void (*expand)(const std::byte*, float*), int block_bytes>
void expand_blocks(const std::byte* from, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; i += kBlock, from += block_bytes) expand(from, out + i);
}

}  // namespace

std::string to_string(TensorType type) {
  switch (type) {
    case TensorType::f32:
      return "F32";
    case TensorType::f16:
      return "F16";
    case TensorType::bf16:
      return "BF16";
    case TensorType::q4_0:
      return "Q4_0";
    case TensorType::q4_1:
      return "Q4_1";
    case TensorType::q8_0:
      return "Q8_0";
  }
  throw std::logic_error("tensor type without a name");
}

TensorLayout layout_of(TensorType type) {
  switch (type) {
    case TensorType::f32:
      return {1, 4};
    case TensorType::f16:
    case TensorType::bf16:
      return {1, 2};
    case TensorType::q4_0:
      return {kBlock, 18};
    case TensorType::q4_1:
      return {kBlock, 20};
    case TensorType::q8_0:
      return {kBlock, 34};
  }
  throw std::logic_error("tensor type without a layout");
}

std::int64_t TensorEntry::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

void expand_rows(const TensorEntry& tensor, std::int64_t first, std::int64_t count,
                 std::span<float> out) {
  const std::int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  const std::int64_t rows = tensor.elements() / row;
  if (first < 0 || count < 0 || first > rows - count || std::ssize(out) != row * count) {
    throw std::out_of_range("expand_rows: rows or output do not fit tensor " + tensor.name);
  }
  if (count == 0) return;
  const TensorLayout layout = layout_of(tensor.type);
  const std::byte* from =
      tensor.bytes.data() + first * (row / layout.block_elements) * layout.block_bytes;
  const std::int64_t elements = row * count;
  switch (tensor.type) {
    case TensorType::f32:
      std::memcpy(out.data(), from, static_cast<std::size_t>(elements) * sizeof(float));
      return;
    case TensorType::f16:
      return expand_f16(from, elements, out.data());
    case TensorType::bf16:
      return expand_bf16(from, elements, out.data());
    case TensorType::q4_0:
      return expand_blocks<expand_q4_0, 18>(from, elements, out.data());
    case TensorType::q4_1:
      return expand_blocks<expand_q4_1, 20>(from, elements, out.data());
    case TensorType::q8_0:
      return expand_blocks<expand_q8_0, 34>(from, elements, out.data());
  }
}

}  // namespace poslens
