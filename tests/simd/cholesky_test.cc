#include "simd/cholesky.h"

#include <gtest/gtest.h>

#include <cmath>

#include "simd/kernel_test.h"

namespace poslens::simd {
namespace {

class Cholesky : public KernelTest {};

// B B^T + I of a random B, as a triangle, and its solution x = (1, 2, ...).
TEST_P(Cholesky, SolvesEveryNumberOfRows) {
  for (std::size_t n = 1; n <= 70; ++n) {
    const std::vector<float> factor = normals(n * n, n);
    std::vector<double> a;
    std::vector<double> b(n, 0);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        double sum = i == j ? 1 : 0;
        for (std::size_t k = 0; k < n; ++k) {
          sum += double{factor[i * n + k]} * double{factor[j * n + k]};
        }
        if (j <= i) a.push_back(sum);
        b[i] += sum * static_cast<double>(j + 1);
      }
    }
    std::vector<double> twin_a = a;
    std::vector<double> twin_b = b;
    solve_positive_definite(a, b);
    simple_solve_positive_definite(twin_a, twin_b);
    for (std::size_t i = 0; i < n; ++i) {
      const auto expected = static_cast<double>(i + 1);
      ASSERT_NEAR(b[i], expected, 1e-9 * expected) << "row " << i << " of " << n;
      ASSERT_NEAR(twin_b[i], expected, 1e-9 * expected) << "row " << i << " of " << n;
    }
    for (std::size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], twin_a[k], 1e-9) << n;
  }
}

TEST_P(Cholesky, WhatIsNotPositiveDefiniteGivesNaN) {
  std::vector<double> a = {1, 2, 1};
  std::vector<double> b = {1, 1};
  solve_positive_definite(a, b);
  EXPECT_TRUE(std::isnan(b[1]));
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, Cholesky, every_target(), target_name);

}  // namespace
}  // namespace poslens::simd
