#include "poslens/alibi.h"

#include <gtest/gtest.h>

#include <cmath>

namespace poslens {
namespace {

TEST(Alibi, PowersOfTwo) {
  EXPECT_EQ(alibi_slopes(1), std::vector<double>{1.0 / 256});
  const std::vector<double> eight = alibi_slopes(8);
  ASSERT_EQ(eight.size(), 8u);
  for (std::size_t h = 0; h < 8; ++h) EXPECT_DOUBLE_EQ(eight[h], std::pow(0.5, h + 1.0));
}

// As BLOOM's get_slopes gives them for 12 heads: those of 8, then every other one of 16.
TEST(Alibi, OtherCounts) {
  const std::vector<double> twelve = alibi_slopes(12);
  ASSERT_EQ(twelve.size(), 12u);
  EXPECT_DOUBLE_EQ(twelve[7], 1.0 / 256);
  for (std::size_t h = 8; h < 12; ++h) {
    EXPECT_NEAR(twelve[h], std::pow(2.0, -0.5 - static_cast<double>(h - 8)), 1e-15);
  }
}

// The slope times the key's place, from the front or the back.
TEST(Alibi, BiasOfEachHeadAndKey) {
  const Matrix<float> front = alibi_bias({.factor = 0.5}, 2, 5);
  EXPECT_FLOAT_EQ(front(0, 4), 0.5f * 4 / 16);
  EXPECT_FLOAT_EQ(front(1, 3), 0.5f * 3 / 256);
  const Matrix<float> back = alibi_bias({.counts_from_end = true}, 2, 5);
  EXPECT_FLOAT_EQ(back(0, 4), 0);
  EXPECT_FLOAT_EQ(back(1, 1), -3.0f / 256);
}

// As transformers' build_alibi_tensor of Falcon gives it for 12 heads: slopes, places beyond 256
// and products are rounded to bf16.
TEST(Alibi, FalconsRounding) {
  const Matrix<float> bias = alibi_bias({.rounds_to_bf16 = true}, 12, 300);
  const std::size_t heads[] = {0, 8, 9, 11};
  const std::size_t keys[] = {1, 3, 77, 257, 299};
  const float expected[4][5] = {{0.5, 1.5, 38.5, 128.0, 150.0},
                                {0.70703125, 2.125, 54.5, 181.0, 212.0},
                                {0.353515625, 1.0625, 27.25, 90.5, 106.0},
                                {0.08837890625, 0.265625, 6.8125, 22.625, 26.5}};
  for (std::size_t h = 0; h < 4; ++h) {
    for (std::size_t k = 0; k < 5; ++k) EXPECT_EQ(bias(heads[h], keys[k]), expected[h][k]);
  }
}

}  // namespace
}  // namespace poslens
