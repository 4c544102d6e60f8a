#include "simd/normal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "poslens/random.h"
#include "support/highway_targets.h"
#include "support/statistics.h"

namespace poslens::simd {
namespace {

using test::correlation;
using test::kolmogorov_smirnov;
using test::Moments;

constexpr std::uint64_t kSeed = 0x123456789abcdef0;

std::vector<float> normals(std::uint64_t first_sample, std::int64_t samples,
                           std::int64_t per_sample) {
  std::vector<float> values(static_cast<std::size_t>(samples * per_sample));
  fill_normals(kSeed, first_sample, per_sample, values);
  return values;
}

// The same numbers in double precision, from the scalar Philox.
std::vector<double> simple_normals(std::uint64_t sample, std::int64_t per_sample) {
  const auto uniform = [](std::uint32_t word) { return ((word >> 1) + 0.5) * 0x1p-31; };
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  std::vector<double> values;
  for (std::int64_t block = 0; block < per_sample / 4; ++block) {
    const auto words =
        philox4x32({low(static_cast<std::uint64_t>(block)), 0, low(sample), low(sample >> 32)},
                   {low(kSeed), low(kSeed >> 32)}, 7);
    for (int pair = 0; pair < 2; ++pair) {
      const double radius = std::sqrt(-2 * std::log(uniform(words[2 * pair])));
      const double angle = 2 * std::numbers::pi * words[2 * pair + 1] * 0x1p-32;
      values.push_back(radius * std::cos(angle));
      values.push_back(radius * std::sin(angle));
    }
  }
  return values;
}

TEST(Normal, EveryTargetEqualsTheScalarTwin) {
  test::for_each_target([](std::int64_t) {
    // Samples around 2^32 and a count that no lane count divides.
    for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{0xfffffff0}}) {
      constexpr std::int64_t kSamples = 37, kPerSample = 64;
      const std::vector<float> values = normals(first, kSamples, kPerSample);
      for (std::int64_t s = 0; s < kSamples; ++s) {
        const auto expected = simple_normals(first + static_cast<std::uint64_t>(s), kPerSample);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          // Near u = 1 the float's last bit is 2^-24, and the radius sqrt(-2 log u) feels it.
          const double tolerance = std::abs(expected[i]) < 0.05 ? 1e-4 : 4e-6;
          ASSERT_NEAR(values[static_cast<std::size_t>(s * kPerSample) + i], expected[i], tolerance)
              << "sample " << s << ", number " << i;
        }
      }
    }
  });
}

TEST(Normal, ASampleDoesNotDependOnItsLane) {
  const std::vector<float> all = normals(0, 40, 32);
  for (const std::int64_t first : {1, 7, 16, 39}) {
    const std::vector<float> one = normals(static_cast<std::uint64_t>(first), 1, 32);
    for (std::size_t i = 0; i < 32; ++i) {
      EXPECT_EQ(one[i], all[static_cast<std::size_t>(first) * 32 + i]);
    }
  }
}

TEST(Normal, MomentsAndDistribution) {
  const std::vector<float> values = normals(0, 10000, 200);
  const auto count = static_cast<double>(values.size());
  const Moments found = test::moments(values);
  EXPECT_NEAR(found.mean, 0, 4 / std::sqrt(count));
  EXPECT_NEAR(found.variance, 1, 4 * std::sqrt(2 / count));
  EXPECT_NEAR(found.skewness, 0, 4 * std::sqrt(6 / count));
  EXPECT_NEAR(found.kurtosis, 3, 4 * std::sqrt(24 / count));
  EXPECT_LT(kolmogorov_smirnov(values, test::normal_distribution), 2.23);
}

TEST(Normal, TailsAreThere) {
  const std::vector<float> values = normals(500000, 10000, 200);
  double beyond = 0;
  for (const float x : values) beyond += std::abs(x) > 4;
  const double expected = 2 * test::normal_distribution(-4) * static_cast<double>(values.size());
  EXPECT_NEAR(beyond, expected, 4 * std::sqrt(expected));
}

// Within a sample (lags 1 to 8, which cross Box-Muller pairs and Philox blocks) and between
// neighbouring samples; of the values and of their squares.
TEST(Normal, NumbersAreUncorrelated) {
  constexpr std::int64_t kSamples = 10000, kPerSample = 100;
  const std::vector<float> values = normals(77, kSamples, kPerSample);
  std::vector<float> squares = values;
  for (float& x : squares) x *= x;
  for (const std::size_t lag : {1, 2, 3, 4, 5, 6, 7, 8, 100, 200, 400, 1600}) {
    const std::size_t count = values.size() - lag;
    const double bound = 4.5 / std::sqrt(static_cast<double>(count));
    EXPECT_LT(std::abs(correlation({values.data(), count}, {values.data() + lag, count})), bound)
        << "lag " << lag;
    EXPECT_LT(std::abs(correlation({squares.data(), count}, {squares.data() + lag, count})), bound)
        << "squares, lag " << lag;
  }
}

class Chi : public testing::TestWithParam<int> {};

TEST_P(Chi, MomentsAndDistribution) {
  const int dof = GetParam();
  std::vector<float> values(400000);
  fill_chi(kSeed, 0, dof, values);
  const auto count = static_cast<double>(values.size());
  const Moments found = test::moments(values);
  const double mean =
      std::numbers::sqrt2 * std::exp(std::lgamma((dof + 1) / 2.0) - std::lgamma(dof / 2.0));
  const double variance = dof - mean * mean;
  EXPECT_NEAR(found.mean, mean, 4 * std::sqrt(variance / count));
  EXPECT_NEAR(found.variance, variance, 4 * variance * std::sqrt((found.kurtosis - 1) / count));
  EXPECT_LT(kolmogorov_smirnov(values, [dof](double x) { return test::chi_distribution(dof, x); }),
            2.23);
}

TEST_P(Chi, PairsAndNeighboursAreUncorrelated) {
  std::vector<float> values(200000);
  fill_chi(kSeed, 1000000, GetParam(), values);
  for (const std::size_t lag : {1, 2, 3, 32}) {
    const std::size_t count = values.size() - lag;
    EXPECT_LT(std::abs(correlation({values.data(), count}, {values.data() + lag, count})),
              4.5 / std::sqrt(static_cast<double>(count)));
  }
}

INSTANTIATE_TEST_SUITE_P(DegreesOfFreedom, Chi,
                         testing::Values(1, 2, 3, 4, 7, 15, 64, 65, 66, 200, 1023, 4096));

// Against the exact logarithm in double precision. Some error here is far too small for the
// statistics of drawn numbers: 1/5 for the series' 1/4 changes 2e-4 of the draws.
TEST(Chi, AcceptsWithTheExactProbability) {
  test::for_each_target([](std::int64_t) {
    for (const int dof : {2, 3, 5, 16, 63, 64, 65, 66, 67, 100, 500, 1023, 4096}) {
      const double g = dof / 2.0 - 1.0 / 3;
      std::vector<float> z, found(1334);
      for (int i = -667; i <= 666; ++i) z.push_back(static_cast<float>(i) / 100);
      chi_log_acceptance(dof, z, found);
      for (std::size_t i = 0; i < z.size(); ++i) {
        const double t = z[i] / (3 * std::sqrt(g));
        if (t < -0.999) continue;
        // 1 - v + log v, v = (1 + t)^3, without cancellation.
        const double bracket = 3 * std::log1p(t) - t * (3 + t * (3 + t));
        const double expected = z[i] * double{z[i]} / 2 + g * bracket;
        if (expected < -20) continue;
        // The logarithm loses digits for few degrees of freedom; the series ends before t^8 / 12.
        const double rest = 3 * g * std::pow(t, 12) / 12 / (t < 0 ? 1 + t : 1);
        const double tolerance =
            dof < 65 ? 2e-5 * (1 + std::abs(expected)) : 3e-7 + 3e-6 * std::abs(expected) + rest;
        ASSERT_NEAR(found[i], expected, tolerance) << dof << ", z " << z[i];
      }
    }
  });
}

TEST(Chi, TargetsAgree) {
  for (const int dof : {1, 2, 3, 15, 64, 4096}) {
    std::vector<float> best(2000);
    fill_chi(kSeed, 5, dof, best);
    test::for_each_target([&](std::int64_t) {
      std::vector<float> values(best.size());
      fill_chi(kSeed, 5, dof, values);
      for (std::size_t i = 0; i < best.size(); ++i) {
        ASSERT_NEAR(values[i], best[i], 2e-6 * std::sqrt(dof) + 1e-5) << dof << ' ' << i;
      }
    });
  }
}

}  // namespace
}  // namespace poslens::simd
