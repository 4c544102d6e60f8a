#include "report/map_codes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace poslens {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Values 0..1 in the triangle, and one outlier.
Matrix<float> triangle(std::size_t n) {
  Matrix<float> map(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      map(i, j) = j > i ? kNan : static_cast<float>((i * 31 + j * 17) % 101) / 100.0F;
    }
  }
  map(n - 1, 0) = 1000;
  return map;
}

TEST(MapCodes, ComeBackWithinHalfAStep) {
  const Matrix<float> map = triangle(60);
  const MapCodes codes = encode_map(map.view());
  ASSERT_TRUE(codes.triangle);
  ASSERT_EQ(codes.codes.size(), 2U * 60 * 61 / 2);
  const double core_step = (codes.range_high - codes.range_low) / 2048;
  const double low_step = (codes.range_low - codes.low) / 1023;
  const double high_step = (codes.high - codes.range_high) / 1023;
  std::size_t at = 0;
  for (std::size_t i = 0; i < 60; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const double value = map(i, j);
      const double step = value < codes.range_low    ? low_step
                          : value > codes.range_high ? high_step
                                                     : core_step;
      EXPECT_NEAR(decode_value(codes, at++), value, step / 2 + 1e-6);
    }
  }
  EXPECT_LT(core_step, 0.0005) << "an outlier must not cost the colours";
  EXPECT_FLOAT_EQ(static_cast<float>(codes.high), 1000);
}

TEST(MapCodes, KeepWhatIsMissingApart) {
  Matrix<float> map(3, 3);
  map.values() = {1, 2, 3, 4, kNan, 6, 7, 8, 9};
  const MapCodes codes = encode_map(map.view());
  EXPECT_FALSE(codes.triangle);
  ASSERT_EQ(codes.codes.size(), 18U);
  for (std::size_t k = 0; k < 9; ++k) {
    EXPECT_EQ(std::isnan(decode_value(codes, k)), k == 4);
  }
}

TEST(MapCodes, HandleMapsWithOneValueOrNone) {
  Matrix<float> map(2, 2);
  map.values() = {5, 5, 5, 5};
  const MapCodes constant = encode_map(map.view());
  EXPECT_NEAR(decode_value(constant, 0), 5, 0.001);
  map.values() = {kNan, kNan, kNan, kNan};
  const MapCodes none = encode_map(map.view());
  EXPECT_TRUE(std::isnan(decode_value(none, 0)));
  EXPECT_TRUE(std::isfinite(none.low) && std::isfinite(none.high));
}

// Base64 digits as RFC 4648 has them: 0 is "A", 63 is "/".
TEST(MapCodes, AreTwoDigitsTheHigherFirst) {
  Matrix<float> map(1, 3);
  map.values() = {0, 1, kNan};
  EXPECT_EQ(encode_map(map.view()).codes, "AA/+//") << "codes 0, 4094 and 4095";
}

}  // namespace
}  // namespace poslens
