#include "report/words.h"

#include <gtest/gtest.h>

#include <cmath>

namespace poslens {
namespace {

Estimate with(double value, double error) {
  Estimate estimate{value};
  estimate.standard_error = error;
  return estimate;
}

TEST(Words, AsManyDecimalsAsTheErrorDeserves) {
  EXPECT_EQ(percent(with(0.23412, 0.0123)), "23.4 ± 1.2 %");
  EXPECT_EQ(percent(with(0.23412, 0.34)), "23 ± 34 %");
  EXPECT_EQ(percent(with(0.00001, 0.0005)), "0.001 ± 0.050 %");
  EXPECT_EQ(percent(with(0.23412, NAN)), "23.4 %");
  EXPECT_EQ(percent(with(NAN, NAN)), "unknown");
  EXPECT_EQ(with_error(with(12345.678, 2.5)), "12345.7 ± 2.5");
  EXPECT_EQ(with_error(with(0.0123456, 0.00041)), "0.01235 ± 0.00041");
  EXPECT_EQ(with_error(with(-0.001, 0.5)), "0.00 ± 0.50");
  EXPECT_EQ(with_error(with(0, NAN)), "0");
  EXPECT_EQ(with_error(with(NAN, 1)), "unknown");
}

}  // namespace
}  // namespace poslens
