#include <gtest/gtest.h>

#include <cmath>

#include "metrics/support.h"
#include "poslens/decomposition.h"
#include "poslens/error.h"

namespace poslens {
namespace {

TEST(DiagonalNormalised, BothTrianglesAndHiddenPairs) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Matrix<float> map(3, 3);
  map.values() = {1, 4, nan,  //
                  5, 2, 8,    //
                  7, 9, 6};
  const Matrix<float> result = diagonal_normalised(map.view());
  // Diagonals: 1 2 6 (mean 3); 4 8 (6); hidden; 5 9 (7); 7.
  const std::vector<float> expected = {-2, -2, nan,  //
                                       -2, -1, 2,    //
                                       0,  2,  3};
  for (std::size_t k = 0; k < expected.size(); ++k) {
    if (std::isnan(expected[k])) {
      EXPECT_TRUE(std::isnan(result.values()[k]));
    } else {
      EXPECT_FLOAT_EQ(result.values()[k], expected[k]) << k;
    }
  }
}

TEST(NearnessSlope, RecoversTheSlope) {
  const Formula formula = [](double i, double j) { return -1.5 * std::log1p(i - j) + 4 * i; };
  for (const std::size_t window : {std::size_t{SIZE_MAX}, std::size_t{7}}) {
    const Matrix<float> map = make_map(30, formula, window);
    EXPECT_NEAR(nearness_slope({map.view()}, {}).value, -1.5, 1e-5);
    EXPECT_NEAR(nearness_slope({map.view()}, {1}).value, -1.5, 1e-5);
  }
}

TEST(NearnessSlope, StandardErrorIsThatOfAMean) {
  RandomStream random(3, 0);
  const Formula formula = [](double i, double j) { return std::log1p(i - j); };
  const auto maps = noisy_groups(12, 5, 1, random, formula);
  double mean = 0;
  double squares = 0;
  for (const Matrix<float>& map : maps) {
    const double slope = nearness_slope({map.view()}, {}).value;
    mean += slope / 5;
    squares += slope * slope / 5;
  }
  const Estimate all = nearness_slope(views(maps), {});
  EXPECT_NEAR(all.value, mean, 1e-12);
  EXPECT_NEAR(all.standard_error, std::sqrt((squares - mean * mean) / 4), 1e-12);
}

// Rows 2 and 3: 4 - 1 and 9 - (1 + 3) / 2; under a window of 3 only query 2 sees key 0 and another.
TEST(FirstKeyExcess, ByHand) {
  for (const std::size_t window : {std::size_t{SIZE_MAX}, std::size_t{3}}) {
    Matrix<float> map = make_map(
        4, [](double i, double) { return 100 * i; }, window);
    map(2, 0) = 4, map(2, 1) = 1;
    if (window > 3) map(3, 0) = 9;
    map(3, 1) = 1, map(3, 2) = 3;
    const double expected = window > 3 ? (3 + 7) / 2. : 3;
    EXPECT_DOUBLE_EQ(first_key_excess({map.view()}, {}).value, expected);
  }
}

TEST(FirstKeyExcess, IsTheSinkWhateverTheRows) {
  RandomStream random(8, 0);
  const Formula formula = [](double i, double j) { return (j == 0 ? 3 : 0) + 20 * std::sin(i); };
  const Estimate with = first_key_excess(views(noisy_groups(30, 6, 0.1, random, formula)), {});
  EXPECT_NEAR(with.value, 3, 4 * with.standard_error);
  EXPECT_LT(with.standard_error, 0.03);
  const Estimate of_key_1 = first_key_excess(views(noisy_groups(30, 6, 0.1, random, formula)), {1});
  EXPECT_NEAR(of_key_1.value, 0, 4 * of_key_1.standard_error);
}

TEST(OffDiagonalVariation, SeesBothTrianglesButNotTheDiagonal) {
  Matrix<float> map(5, 5);
  map.values().assign(25, 3);
  for (std::size_t i = 0; i < 5; ++i) map(i, i) = 100;
  EXPECT_EQ(off_diagonal_variation({map.view()}, {}).value, 0);
  map(1, 4) = 23;  // 20 pairs: mean 4, deviations 19 and 19 times 1
  EXPECT_NEAR(off_diagonal_variation({map.view()}, {}).value, (19. * 19 + 19) / 20, 1e-12);
  map(0, 3) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(off_diagonal_variation({map.view()}, {}), Error);
  EXPECT_NEAR(off_diagonal_variation({map.view()}, {1}).value, (11. * 400) / 144, 1e-5);
}

TEST(OffDiagonalVariation, NoiseIsCentredOnZero) {
  RandomStream random(4, 0);
  double sum = 0;
  double squares = 0;
  constexpr int kTrials = 200;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<Matrix<float>> maps(4, Matrix<float>(8, 8));
    for (Matrix<float>& map : maps) {
      for (float& value : map.values()) value = static_cast<float>(2 + random.normal());
    }
    const double value = off_diagonal_variation(views(maps), {}).value;
    sum += value;
    squares += value * value;
  }
  const double error = std::sqrt(squares / kTrials / kTrials);
  EXPECT_LT(error, 0.01);
  EXPECT_NEAR(sum / kTrials, 0, 3.5 * error);
}

}  // namespace
}  // namespace poslens
