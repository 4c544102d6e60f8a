#include "figures/colours.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace poslens {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

double luminance(unsigned colour) {
  return 0.2126 * (colour >> 16 & 0xff) + 0.7152 * (colour >> 8 & 0xff) + 0.0722 * (colour & 0xff);
}

Matrix<float> row_of(std::vector<float> values) {
  Matrix<float> row(1, values.size());
  row.values() = std::move(values);
  return row;
}

TEST(PaletteColour, RocketGrowsLighterAllTheWay) {
  for (int k = 8; k < 256; k += 8) {  // steps that outweigh the rounding of each channel
    EXPECT_LT(luminance(palette_colour(Palette::rocket, (k - 8) / 255.0)),
              luminance(palette_colour(Palette::rocket, k / 255.0)));
  }
  EXPECT_LT(luminance(palette_colour(Palette::rocket, 0)), 15);
  EXPECT_GT(luminance(palette_colour(Palette::rocket, 1)), 220);
}

TEST(PaletteColour, DivergingIsBlueThenWhiteThenRed) {
  const unsigned low = palette_colour(Palette::diverging, 0);
  const unsigned high = palette_colour(Palette::diverging, 1);
  EXPECT_GT(low & 0xff, low >> 16 & 0xff);
  EXPECT_GT(high >> 16 & 0xff, high & 0xff);
  EXPECT_GT(luminance(palette_colour(Palette::diverging, 0.5)), 240);
}

TEST(PaletteColour, ClampsOutsideOfTheRange) {
  EXPECT_EQ(palette_colour(Palette::rocket, -1), palette_colour(Palette::rocket, 0));
  EXPECT_EQ(palette_colour(Palette::rocket, 2), palette_colour(Palette::rocket, 1));
}

// Expected values: numpy.quantile.
TEST(Quantile, InterpolatesBetweenFiniteValues) {
  const Matrix<float> values = row_of({4, kNan, 1, 3, 2, kNan});
  EXPECT_DOUBLE_EQ(quantile(values.view(), 0), 1);
  EXPECT_DOUBLE_EQ(quantile(values.view(), 1), 4);
  EXPECT_DOUBLE_EQ(quantile(values.view(), 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values.view(), 0.25), 1.75);
  EXPECT_NEAR(quantile(values.view(), 0.99), 3.97, 1e-12);
  EXPECT_TRUE(std::isnan(quantile(row_of({kNan}).view(), 0.5)));
}

TEST(ColourRange, IsNeverEmpty) {
  for (const Matrix<float>& values :
       {row_of({2, 2, 2}), row_of({0}), row_of({kNan, kNan}), row_of({-3, -3})}) {
    const auto [low, high] = colour_range(values.view());
    EXPECT_LT(low, high);
  }
}

}  // namespace
}  // namespace poslens
