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
  EXPECT_EQ(jackknife(0.1, {0.1, 0.1, 0.1}).standard_error, 0);
  EXPECT_TRUE(std::isnan(jackknife(3, {}).standard_error));
  EXPECT_TRUE(std::isnan(jackknife(3, {1}).standard_error));
  EXPECT_TRUE(std::isnan(jackknife(3, {1, NAN}).standard_error));
}

// Quantiles of Student's distribution from tables (Abramowitz & Stegun, table 26.10).
TEST(ConfidenceInterval, IsStudents) {
  const auto reach = [](std::size_t groups, double level) {
    std::vector<double> values(groups, 0);
    values[0] = 1;
    const Estimate estimate = jackknife(10, values);
    const Interval interval = confidence_interval(estimate, level);
    EXPECT_NEAR(interval.low + interval.high, 20, 1e-12);
    return (interval.high - 10) / estimate.standard_error;
  };
  EXPECT_NEAR(reach(2, 0.95), 12.706, 5e-4);
  EXPECT_NEAR(reach(3, 0.95), 4.303, 5e-4);
  EXPECT_NEAR(reach(4, 0.99), 5.841, 5e-4);
  EXPECT_NEAR(reach(8, 0.95), 2.365, 5e-4);
  EXPECT_NEAR(reach(9, 0.90), 1.860, 5e-4);
  EXPECT_NEAR(reach(31, 0.95), 2.042, 5e-4);
  EXPECT_TRUE(std::isnan(confidence_interval(Estimate{3}).low));
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
