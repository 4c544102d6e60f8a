#include "figures/colours.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "poslens/error.h"

namespace poslens {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Matrix<float> row_of(std::vector<float> values) {
  Matrix<float> row(1, values.size());
  row.values() = std::move(values);
  return row;
}

constexpr Palette kAll[] = {Palette::rocket, Palette::viridis,   Palette::cividis,
                            Palette::grey,   Palette::diverging, Palette::purple_orange};

TEST(Palette, NamesAreThoseOfTheOption) {
  for (const Palette palette : kAll) EXPECT_EQ(parse_palette(to_string(palette)), palette);
  try {
    parse_palette("mauve");
    FAIL() << "expected a UsageError";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "--palette mauve: expected one of rocket, viridis, cividis, grey, diverging, "
                 "purple-orange");
  }
}

TEST(PaletteColour, SequentialOnesGrowLighterAllTheWay) {
  for (const Palette palette : kAll) {
    if (is_diverging(palette)) continue;
    for (int k = 8; k < 256; k += 8) {  // steps that outweigh the rounding of each channel
      EXPECT_LT(luminance(palette, (k - 8) / 255.0), luminance(palette, k / 255.0))
          << to_string(palette) << " " << k;
    }
    EXPECT_LT(luminance(palette, 0), 0.15) << to_string(palette);
    EXPECT_GT(luminance(palette, 1), 0.77) << to_string(palette);
  }
}

// Colours as a dichromat sees them: Vienot, Brettel & Mollon 1999, linear RGB.
std::array<double, 3> seen(unsigned colour, const std::array<double, 9>& matrix) {
  std::array<double, 3> linear{}, result{};
  for (int c = 0; c < 3; ++c) {
    linear[static_cast<std::size_t>(c)] = std::pow((colour >> (16 - 8 * c) & 0xff) / 255.0, 2.2);
  }
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t c = 0; c < 3; ++c) result[row] += matrix[3 * row + c] * linear[c];
    result[row] = std::pow(std::clamp(result[row], 0.0, 1.0), 1 / 2.2);
  }
  return result;
}

double smallest_distance(unsigned a, unsigned b) {
  constexpr std::array<double, 9> kProtan = {0.11238, 0.88762, 0,        0.11238, 0.88762,
                                             0,       0.00401, -0.00401, 1};
  constexpr std::array<double, 9> kDeutan = {0.29275, 0.70725,  0,       0.29275, 0.70725,
                                             0,       -0.02234, 0.02234, 1};
  double smallest = 2;
  for (const auto& matrix : {kProtan, kDeutan}) {
    const auto x = seen(a, matrix), y = seen(b, matrix);
    smallest = std::min(smallest, std::hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]));
  }
  return smallest;
}

TEST(PaletteColour, DivergingOnesAreWhiteInTheMiddleWithSidesThatEveryoneTellsApart) {
  EXPECT_LT(smallest_distance(0x5f9e3f, 0xb5713f), 0.25) << "a green and a red, for comparison";
  for (const Palette palette : {Palette::diverging, Palette::purple_orange}) {
    EXPECT_GT(luminance(palette, 0.5), 0.94);
    for (const double x : {0.2, 0.3, 0.4}) {
      EXPECT_GT(luminance(palette, 0.5 - x), luminance(palette, 0.45 - x));
      EXPECT_GT(luminance(palette, 0.5 + x), luminance(palette, 0.55 + x));
      EXPECT_GT(
          smallest_distance(palette_colour(palette, 0.5 - x), palette_colour(palette, 0.5 + x)),
          0.25)
          << to_string(palette) << " " << x;
    }
  }
  const unsigned low = palette_colour(Palette::diverging, 0);
  EXPECT_GT(low & 0xff, low >> 16 & 0xff) << "blue below zero";
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

Panel panel_of(std::vector<float> values) { return {"", row_of(std::move(values)), {}}; }

TEST(ColourRanges, AreOfEachPanelOrOfAll) {
  std::vector<Panel> panels = {panel_of({0, 1, kNan}), panel_of({10, 14}), panel_of({3})};
  panels[2].range = {-5, 5};
  FigureOptions options;
  options.quantiles = {0.25, 0.75};
  using Ranges = std::vector<std::pair<double, double>>;
  EXPECT_EQ(colour_ranges(panels, options), (Ranges{{0.25, 0.75}, {11, 13}, {-5, 5}}));
  options.shared_scale = true;  // quantiles of 0, 1, 10, 14
  EXPECT_EQ(colour_ranges(panels, options), (Ranges{{0.75, 11}, {0.75, 11}, {-5, 5}}));
  options.palette = Palette::diverging;
  EXPECT_EQ(colour_ranges(panels, options), (Ranges{{-11, 11}, {-11, 11}, {-5, 5}}));
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
