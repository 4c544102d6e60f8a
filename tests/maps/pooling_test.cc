#include "poslens/pooling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace poslens {
namespace {

TEST(BlockFor, IsTheSmallestThatFits) {
  EXPECT_EQ(block_for(256, 256), 1u);
  EXPECT_EQ(block_for(257, 256), 2u);
  EXPECT_EQ(block_for(512, 256), 2u);
  EXPECT_EQ(block_for(513, 256), 3u);
}

TEST(PoolMean, AveragesFiniteValuesOfEachTile) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Matrix<float> map(3, 3);
  map.values() = {1, nan, nan,  //
                  3, 5,   nan,  //
                  7, 9,   11};
  const Matrix<float> pooled = pool_mean(map.view(), 2);
  ASSERT_EQ(pooled.rows(), 2u);
  ASSERT_EQ(pooled.columns(), 2u);
  EXPECT_FLOAT_EQ(pooled(0, 0), 3);
  EXPECT_TRUE(std::isnan(pooled(0, 1)));
  EXPECT_FLOAT_EQ(pooled(1, 0), 8);
  EXPECT_FLOAT_EQ(pooled(1, 1), 11);
}

}  // namespace
}  // namespace poslens
