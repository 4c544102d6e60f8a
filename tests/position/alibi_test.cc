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

}  // namespace
}  // namespace poslens
