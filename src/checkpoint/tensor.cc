#include <fmt/format.h>

#include <array>
#include <cstring>
#include <stdexcept>

#include "checkpoint/half.h"
#include "poslens/checkpoint.h"
#include "poslens/error.h"

namespace poslens {
namespace {

std::uint16_t load16(const std::byte* from) {
  std::uint16_t value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

void expand_f64(const std::byte* from, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    double value;
    std::memcpy(&value, from + 8 * i, sizeof value);
    out[i] = static_cast<float>(value);
  }
}

void expand_f32(const std::byte* from, std::int64_t count, float* out) {
  std::memcpy(out, from, static_cast<std::size_t>(count) * sizeof(float));
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

struct TypeFacts {
  TensorType type;
  std::string_view name;
  TensorLayout layout;
  void (*expand)(const std::byte* from, std::int64_t elements, float* out);  // nullptr: not known
};

// In the order of the enumeration.
constexpr TypeFacts kTypes[] = {
    {TensorType::f64, "F64", {1, 8}, expand_f64},
    {TensorType::f32, "F32", {1, 4}, expand_f32},
    {TensorType::f16, "F16", {1, 2}, expand_f16},
    {TensorType::bf16, "BF16", {1, 2}, expand_bf16},
    {TensorType::q4_0, "Q4_0", {kBlock, 18}, expand_blocks<expand_q4_0, 18>},
    {TensorType::q4_1, "Q4_1", {kBlock, 20}, expand_blocks<expand_q4_1, 20>},
    {TensorType::q8_0, "Q8_0", {kBlock, 34}, expand_blocks<expand_q8_0, 34>},
    {TensorType::boolean, "BOOL", {1, 1}, nullptr},
    {TensorType::u8, "U8", {1, 1}, nullptr},
    {TensorType::i8, "I8", {1, 1}, nullptr},
    {TensorType::u16, "U16", {1, 2}, nullptr},
    {TensorType::i16, "I16", {1, 2}, nullptr},
    {TensorType::u32, "U32", {1, 4}, nullptr},
    {TensorType::i32, "I32", {1, 4}, nullptr},
    {TensorType::u64, "U64", {1, 8}, nullptr},
    {TensorType::i64, "I64", {1, 8}, nullptr},
    {TensorType::f8_e4m3, "F8_E4M3", {1, 1}, nullptr},
    {TensorType::f8_e5m2, "F8_E5M2", {1, 1}, nullptr},
};

const TypeFacts& facts(TensorType type) { return kTypes[static_cast<std::size_t>(type)]; }

constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(kTypes); ++i) {
    if (static_cast<std::size_t>(kTypes[i].type) != i) return false;
  }
  return std::size(kTypes) == static_cast<std::size_t>(TensorType::f8_e5m2) + 1;
}
static_assert(in_order());

}  // namespace

std::string to_string(TensorType type) { return std::string(facts(type).name); }

bool is_expandable(TensorType type) { return facts(type).expand != nullptr; }

TensorLayout layout_of(TensorType type) { return facts(type).layout; }

std::int64_t TensorEntry::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

void expand_rows(const TensorEntry& tensor, std::int64_t first, std::int64_t count,
                 std::span<float> out) {
  const std::int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  const std::int64_t rows = row == 0 ? 0 : tensor.elements() / row;
  if (first < 0 || count < 0 || first > rows - count || std::ssize(out) != row * count) {
    throw std::out_of_range("expand_rows: rows or output do not fit tensor " + tensor.name);
  }
  const TypeFacts& type = facts(tensor.type);
  if (type.expand == nullptr) {
    throw Error(fmt::format("tensor '{}': expected a type that weights are kept in, found {}",
                            tensor.name, type.name));
  }
  if (count == 0) return;
  const std::byte* from =
      tensor.bytes.data() + first * (row / type.layout.block_elements) * type.layout.block_bytes;
  type.expand(from, row * count, out.data());
}

}  // namespace poslens
