#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

#include "checkpoint/bytes.h"
#include "checkpoint/quants.h"
#include "poslens/checkpoint.h"
#include "poslens/error.h"

namespace poslens {
namespace {

void expand_f64(const std::byte* from, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(load<double>(from + 8 * i));
}

void expand_f32(const std::byte* from, std::int64_t count, float* out) {
  std::memcpy(out, from, static_cast<std::size_t>(count) * sizeof(float));
}

void expand_f16(const std::byte* from, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = load_half(from + 2 * i);
}

void expand_bf16(const std::byte* from, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = bfloat16_to_float(load<std::uint16_t>(from + 2 * i));
  }
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
    {TensorType::q4_0, "Q4_0", {32, 18}, expand_q4_0},
    {TensorType::q4_1, "Q4_1", {32, 20}, expand_q4_1},
    {TensorType::q5_0, "Q5_0", {32, 22}, expand_q5_0},
    {TensorType::q5_1, "Q5_1", {32, 24}, expand_q5_1},
    {TensorType::q8_0, "Q8_0", {32, 34}, expand_q8_0},
    {TensorType::q2_k, "Q2_K", {256, 84}, expand_q2_k},
    {TensorType::q3_k, "Q3_K", {256, 110}, expand_q3_k},
    {TensorType::q4_k, "Q4_K", {256, 144}, expand_q4_k},
    {TensorType::q5_k, "Q5_K", {256, 176}, expand_q5_k},
    {TensorType::q6_k, "Q6_K", {256, 210}, expand_q6_k},
    {TensorType::iq4_nl, "IQ4_NL", {32, 18}, expand_iq4_nl},
    {TensorType::iq4_xs, "IQ4_XS", {256, 136}, expand_iq4_xs},
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
