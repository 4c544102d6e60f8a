#include "poslens/estimate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace poslens {
namespace {

// For a mean, the jackknife is the ordinary standard error: here of 1, 2, 6, that is sqrt(14/6).
TEST(Jackknife, OfAMeanIsItsStandardError) {
  const Estimate mean = jackknife(3, {4, 3.5, 1.5});
  EXPECT_DOUBLE_EQ(mean.value, 3);
  EXPECT_NEAR(mean.standard_error, std::sqrt(14. / 6), 1e-12);
  EXPECT_TRUE(std::isnan(jackknife(3, {}).standard_error));
  EXPECT_TRUE(std::isnan(jackknife(3, {1}).standard_error));
  EXPECT_TRUE(std::isnan(jackknife(3, {1, NAN}).standard_error));
}

TEST(Combine, CommonNoiseCancels) {
  const Estimate a = jackknife(3, {4, 3.5, 1.5});
  const Estimate b = jackknife(6, {8, 7, 3});
  EXPECT_DOUBLE_EQ(ratio(a, b).value, 0.5);
  EXPECT_NEAR(ratio(a, b).standard_error, 0, 1e-12);
  const Estimate sum = combine({&a, &b}, [](std::span<const double> of) { return of[0] + of[1]; });
  EXPECT_NEAR(sum.standard_error, 3 * a.standard_error, 1e-12);
}

TEST(Combine, WithoutLeaveOneOutValuesTheErrorIsUnknown) {
  const Estimate a = jackknife(3, {4, 3.5, 1.5});
  EXPECT_TRUE(std::isnan(ratio(a, Estimate{2}).standard_error));
  EXPECT_DOUBLE_EQ(ratio(a, Estimate{2}).value, 1.5);
  EXPECT_TRUE(std::isnan(ratio(a, Estimate{-1}).value));
}

}  // namespace
}  // namespace poslens
