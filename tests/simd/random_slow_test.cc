// The simulation's random numbers at 1e8 draws: moments, Kolmogorov-Smirnov and independence.
// Tests of their own program, labelled slow.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <span>
#include <vector>

#include "poslens/threads.h"
#include "simd/normal.h"
#include "support/sanitized.h"
#include "support/statistics.h"

namespace poslens::simd {
namespace {

constexpr std::uint64_t kSeed = 0x0fedcba987654321;
constexpr std::size_t kDraws = test::kSanitized ? 2'000'000 : 100'000'000;
constexpr std::size_t kChunk = 400'000;  // draws at a time
constexpr std::size_t kBins = 1 << 15;
constexpr std::size_t kCells = 32;  // of equal probability, for independence

// What the draws are compared with.
struct Expected {
  std::function<double(double)> distribution;
  double mean;
  double deviation;
  double third, fourth;  // central moments
  double sixth, eighth;  // about, for standard errors
};

// Counts of values on a fine grid, of pairs of values at some distances on a coarse one, and sums
// of powers of (x - mean) / deviation.
struct Tally {
  std::vector<std::int64_t> bins = std::vector<std::int64_t>(kBins);
  std::vector<std::vector<std::int64_t>> pairs;
  double powers[4] = {};
};

class Draws {
 public:
  Draws(const Expected& expected, std::vector<std::size_t> lags,
        const std::function<void(std::uint64_t chunk, std::span<float> out)>& fill)
      : expected_(expected), lags_(std::move(lags)), cells_(kBins) {
    low_ = expected.mean - 8 * expected.deviation;
    bins_per_unit_ = kBins / (16 * expected.deviation);
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      const double middle = low_ + (static_cast<double>(bin) + 0.5) / bins_per_unit_;
      const double cell = std::floor(expected.distribution(middle) * kCells);
      cells_[bin] = static_cast<std::uint8_t>(std::clamp(cell, 0.0, kCells - 1.0));
    }
    std::vector<Tally> tallies(static_cast<std::size_t>(thread_count()));
    for (Tally& tally : tallies) {
      tally.pairs.resize(lags_.size(), std::vector<std::int64_t>(kCells * kCells));
    }
    parallel_for(kDraws / kChunk, [&](std::size_t chunk, int worker) {
      std::vector<float> values(kChunk);
      fill(chunk, values);
      count(values, tallies[static_cast<std::size_t>(worker)]);
    });
    tally_ = tallies[0];
    for (std::size_t i = 1; i < tallies.size(); ++i) join(tallies[i]);
  }

  void expect_moments() const {
    const auto count = static_cast<double>(kDraws);
    const auto moment = [&](int power) { return tally_.powers[power - 1] / count; };
    const double s = expected_.deviation;
    const double third = expected_.third / std::pow(s, 3),
                 fourth = expected_.fourth / std::pow(s, 4);
    EXPECT_NEAR(moment(1), 0, 4 / std::sqrt(count));
    EXPECT_NEAR(moment(2), 1, 4 * std::sqrt((fourth - 1) / count));
    EXPECT_NEAR(moment(3), third, 4 * std::sqrt(expected_.sixth / count));
    EXPECT_NEAR(moment(4), fourth, 4 * std::sqrt(expected_.eighth / count));
  }

  // sqrt(N) sup |F_N - F| over the grid; above 2.23 with probability 1e-4.
  void expect_distribution() const {
    double largest = 0;
    std::int64_t below = 0;
    for (std::size_t bin = 0; bin + 1 < kBins; ++bin) {
      below += tally_.bins[bin];
      const double edge = low_ + static_cast<double>(bin + 1) / bins_per_unit_;
      const double found = static_cast<double>(below) / static_cast<double>(kDraws);
      largest = std::max(largest, std::abs(found - expected_.distribution(edge)));
    }
    EXPECT_LT(std::sqrt(static_cast<double>(kDraws)) * largest, 2.23);
  }

  // Chi-square over kCells x kCells pairs, against the product of the marginal probabilities.
  void expect_independence() const {
    std::vector<double> probability(kCells);
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      const auto edge = [&](std::size_t i) {
        if (i == 0) return 0.0;
        if (i == kBins) return 1.0;
        return expected_.distribution(low_ + static_cast<double>(i) / bins_per_unit_);
      };
      probability[cells_[bin]] += edge(bin + 1) - edge(bin);
    }
    for (std::size_t l = 0; l < lags_.size(); ++l) {
      std::int64_t count = 0;
      for (const std::int64_t n : tally_.pairs[l]) count += n;
      double square = 0;
      for (std::size_t a = 0; a < kCells; ++a) {
        for (std::size_t b = 0; b < kCells; ++b) {
          const double mean = probability[a] * probability[b] * static_cast<double>(count);
          square += std::pow(static_cast<double>(tally_.pairs[l][a * kCells + b]) - mean, 2) / mean;
        }
      }
      const double freedom = kCells * kCells - 1;
      EXPECT_NEAR((square - freedom) / std::sqrt(2 * freedom), 0, 4.5) << "lag " << lags_[l];
    }
  }

 private:
  void count(std::span<const float> values, Tally& tally) const {
    std::vector<std::uint8_t> cells(values.size());
    double powers[4] = {};
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double place = (values[i] - low_) * bins_per_unit_;
      const auto bin = static_cast<std::size_t>(std::clamp(place, 0.0, kBins - 1.0));
      ++tally.bins[bin];
      cells[i] = cells_[bin];
      const double y = (values[i] - expected_.mean) / expected_.deviation, y2 = y * y;
      powers[0] += y;
      powers[1] += y2;
      powers[2] += y * y2;
      powers[3] += y2 * y2;
    }
    for (int i = 0; i < 4; ++i) tally.powers[i] += powers[i];
    for (std::size_t l = 0; l < lags_.size(); ++l) {
      for (std::size_t i = 0; i + lags_[l] < values.size(); ++i) {
        ++tally.pairs[l][cells[i] * kCells + cells[i + lags_[l]]];
      }
    }
  }

  void join(const Tally& other) {
    for (std::size_t i = 0; i < kBins; ++i) tally_.bins[i] += other.bins[i];
    for (int i = 0; i < 4; ++i) tally_.powers[i] += other.powers[i];
    for (std::size_t l = 0; l < lags_.size(); ++l) {
      for (std::size_t i = 0; i < kCells * kCells; ++i) tally_.pairs[l][i] += other.pairs[l][i];
    }
  }

  Expected expected_;
  std::vector<std::size_t> lags_;
  std::vector<std::uint8_t> cells_;  // of each bin
  double low_ = 0;
  double bins_per_unit_ = 0;
  Tally tally_;
};

TEST(Normal, HundredMillion) {
  constexpr std::int64_t kPerSample = 200;
  // Within a Box-Muller pair, a Philox block, to the next block, and to the next samples.
  const Draws draws({test::normal_distribution, 0, 1, 0, 3, 15, 105},
                    {1, 2, 3, 4, 5, 8, kPerSample, 8 * kPerSample, 16 * kPerSample},
                    [](std::uint64_t chunk, std::span<float> out) {
                      fill_normals(kSeed, chunk * (kChunk / kPerSample), kPerSample, out);
                    });
  draws.expect_moments();
  draws.expect_distribution();
  draws.expect_independence();
}

class Chi : public testing::TestWithParam<int> {};

TEST_P(Chi, HundredMillion) {
  const int dof = GetParam();
  // E x^k = 2^(k/2) Gamma((dof + k) / 2) / Gamma(dof / 2); the even ones are polynomials.
  const double m =
      std::numbers::sqrt2 * std::exp(std::lgamma((dof + 1) / 2.0) - std::lgamma(dof / 2.0));
  const double variance = dof - m * m, third = m * (dof + 1.0) - 3 * m * dof + 2 * m * m * m;
  const double fourth =
      dof * (dof + 2.0) - 4 * m * m * (dof + 1.0) + 6 * m * m * dof - 3 * m * m * m * m;
  // The tail beyond the mean is no heavier than a normal one's, but for few degrees of freedom.
  const Draws draws(
      {[dof](double x) { return test::chi_distribution(dof, x); }, m, std::sqrt(variance), third,
       fourth, dof < 8 ? 30.0 : 15, dof < 8 ? 300.0 : 105},
      {1, 2, 3, 16, 32}, [dof](std::uint64_t chunk, std::span<float> out) {
        fill_chi(kSeed, chunk * (kChunk / 2), dof, out);
      });
  draws.expect_moments();
  draws.expect_distribution();
  draws.expect_independence();
}

INSTANTIATE_TEST_SUITE_P(DegreesOfFreedom, Chi,
                         testing::Values(1, 2, 3, 4, 8, 16, 64, 65, 128, 1024, 4096));

}  // namespace
}  // namespace poslens::simd
