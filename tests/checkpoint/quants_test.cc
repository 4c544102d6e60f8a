// Expansion of every tensor type, bit for bit against gguf's own, which
// tools/golden/gguf_quant_fixtures.py ran.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "checkpoint/half.h"
#include "poslens/checkpoint.h"
#include "poslens/npz.h"

namespace poslens {
namespace {

std::vector<std::uint32_t> bits(std::span<const float> values) {
  std::vector<std::uint32_t> result;
  for (const float value : values) result.push_back(std::bit_cast<std::uint32_t>(value));
  return result;
}

class Quants : public testing::Test {
 protected:
  std::unique_ptr<Checkpoint> checkpoint_ = Checkpoint::open(POSLENS_TEST_DATA "/quants.gguf");
  NpzContents expected_ = read_npz(POSLENS_TEST_DATA "/quants.npz");
};

TEST_F(Quants, EqualGgufBitForBit) {
  ASSERT_EQ(checkpoint_->tensors().size(), expected_.arrays.size());
  for (const auto& [name, array] : expected_.arrays) {
    const TensorEntry& tensor = checkpoint_->require(name, array.shape);
    const auto values = array.values<float>();
    ASSERT_EQ(tensor.elements(), std::ssize(values)) << name;
    std::vector<float> out(values.size());
    expand_rows(tensor, 0, tensor.elements() / tensor.shape.back(), out);
    EXPECT_EQ(bits(out), bits(values)) << name;
  }
}

TEST_F(Quants, AnyRowsComeOutAsInTheWhole) {
  for (const auto& [name, array] : expected_.arrays) {
    const TensorEntry& tensor = checkpoint_->require(name, array.shape);
    const auto values = array.values<float>();
    const std::int64_t row = tensor.shape.back();
    const std::int64_t rows = tensor.elements() / row;
    for (std::int64_t first = 0; first < rows; ++first) {
      const std::int64_t count = std::min<std::int64_t>(2, rows - first);
      std::vector<float> out(static_cast<std::size_t>(count * row));
      expand_rows(tensor, first, count, out);
      EXPECT_EQ(bits(out),
                bits(std::span(values).subspan(static_cast<std::size_t>(first * row), out.size())))
          << name << ' ' << first;
    }
  }
}

TEST_F(Quants, RowsThatAreNotThereAreRefused) {
  const TensorEntry& tensor = checkpoint_->require("q4_1", {3, 96});
  std::vector<float> out(96);
  EXPECT_NO_THROW(expand_rows(tensor, 2, 1, out));
  EXPECT_THROW(expand_rows(tensor, 3, 1, out), std::out_of_range);
  EXPECT_THROW(expand_rows(tensor, -1, 1, out), std::out_of_range);
  EXPECT_THROW(expand_rows(tensor, 0, -1, out), std::out_of_range);
  EXPECT_THROW(expand_rows(tensor, 0, 2, out), std::out_of_range);  // the output is too small
  EXPECT_THROW(expand_rows(tensor, 2, std::numeric_limits<std::int64_t>::max(), out),
               std::out_of_range);
  EXPECT_NO_THROW(expand_rows(tensor, 3, 0, std::span(out).first(0)));
}

// IEEE 754: sign, five bits of exponent with bias 15, ten bits of mantissa.
TEST(Half, EveryBitPatternHasItsValue) {
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const auto half = static_cast<std::uint16_t>(pattern);
    const int exponent = half >> 10 & 31;
    const int mantissa = half & 1023;
    double value =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    if (exponent == 31) {
      value = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
    }
    const float found = half_to_float(half);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(found)) << pattern;
    } else {
      ASSERT_EQ(found, static_cast<float>((half & 0x8000) != 0 ? -value : value)) << pattern;
    }
    ASSERT_EQ(std::signbit(found), (half & 0x8000) != 0) << pattern;
  }
}

// GGML_QUANT_SIZES of gguf.
TEST(TensorTypes, LayoutsAreGgml) {
  const struct {
    TensorType type;
    const char* name;
    std::int64_t elements, bytes;
  } types[] = {{TensorType::f64, "F64", 1, 8},         {TensorType::f32, "F32", 1, 4},
               {TensorType::f16, "F16", 1, 2},         {TensorType::bf16, "BF16", 1, 2},
               {TensorType::q4_0, "Q4_0", 32, 18},     {TensorType::q4_1, "Q4_1", 32, 20},
               {TensorType::q5_0, "Q5_0", 32, 22},     {TensorType::q5_1, "Q5_1", 32, 24},
               {TensorType::q8_0, "Q8_0", 32, 34},     {TensorType::q2_k, "Q2_K", 256, 84},
               {TensorType::q3_k, "Q3_K", 256, 110},   {TensorType::q4_k, "Q4_K", 256, 144},
               {TensorType::q5_k, "Q5_K", 256, 176},   {TensorType::q6_k, "Q6_K", 256, 210},
               {TensorType::iq4_nl, "IQ4_NL", 32, 18}, {TensorType::iq4_xs, "IQ4_XS", 256, 136}};
  for (const auto& [type, name, elements, bytes] : types) {
    EXPECT_EQ(to_string(type), name);
    EXPECT_EQ(layout_of(type).block_elements, elements) << name;
    EXPECT_EQ(layout_of(type).block_bytes, bytes) << name;
    EXPECT_TRUE(is_expandable(type)) << name;
  }
}

}  // namespace
}  // namespace poslens
