#include "poslens/decomposition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "metrics/support.h"
#include "poslens/error.h"
#include "support/sanitized.h"

namespace poslens {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

double relative_part(double t) { return 3 * std::log1p(t) - 5 * std::cos(t) + (t == 2 ? 40 : 0); }
double key_part(double j) { return (j == 0 ? 30 : 0) + std::sin(j) + 0.1 * j; }
double row_part(double i) { return 20 * std::sin(3 * i) - 0.5 * i * i / 64; }

Decomposition decompose_one(const Matrix<float>& map, std::int64_t first_key = 0) {
  return decompose({map.view()}, {first_key});
}

// Rounding of single-precision scores.
constexpr double kRounding = 1e-10;

TEST(Decomposition, RelativeMapsHaveNoNonrelativePart) {
  for (const std::size_t window : {std::size_t{SIZE_MAX}, std::size_t{20}}) {
    for (const std::int64_t first_key : {0, 1}) {
      const auto parts =
          decompose_one(make_map(
                            64, [](double i, double j) { return relative_part(i - j); }, window),
                        first_key);
      EXPECT_GT(parts.total.value, 1);
      EXPECT_NEAR(parts.nonrelative_share.value, 0, kRounding);
      EXPECT_NEAR(parts.remainder_share.value, 0, kRounding);
      EXPECT_GT(parts.nonkey_share.value, 0.1);
    }
  }
}

TEST(Decomposition, KeyMapsHaveNoNonkeyPart) {
  const auto parts = decompose_one(make_map(64, [](double, double j) { return key_part(j); }));
  EXPECT_NEAR(parts.nonkey_share.value, 0, kRounding);
  EXPECT_NEAR(parts.remainder_share.value, 0, kRounding);
  EXPECT_GT(parts.nonrelative_share.value, 0.1);
}

TEST(Decomposition, RelativePlusKeyLeavesNoRemainder) {
  for (const std::size_t window : {std::size_t{SIZE_MAX}, std::size_t{9}}) {
    const auto parts = decompose_one(make_map(
        80, [](double i, double j) { return relative_part(i - j) + key_part(j) + row_part(i); },
        window));
    EXPECT_NEAR(parts.remainder_share.value, 0, kRounding);
    EXPECT_GT(parts.nonrelative_share.value, 0.001);
    EXPECT_GT(parts.nonkey_share.value, 0.001);
  }
}

// f, g and h share their linear parts: i - j is relative, and modulo rows it is -j.
TEST(Decomposition, LinearTrendsCountAsBoth) {
  const auto parts = decompose_one(make_map(32, [](double, double j) { return j; }));
  EXPECT_NEAR(parts.nonrelative_share.value, 0, kRounding);
  EXPECT_NEAR(parts.nonkey_share.value, 0, kRounding);
}

TEST(Decomposition, RowFunctionsChangeNothing) {
  const Formula map = [](double i, double j) { return relative_part(i - j) + std::sqrt(i * j); };
  const auto plain = decompose_one(make_map(48, map));
  const auto shifted =
      decompose_one(make_map(48, [&](double i, double j) { return map(i, j) + row_part(i); }));
  EXPECT_NEAR(shifted.total.value, plain.total.value, 1e-5 * plain.total.value);
  EXPECT_NEAR(shifted.nonrelative_share.value, plain.nonrelative_share.value, 1e-5);
  EXPECT_NEAR(shifted.nonkey_share.value, plain.nonkey_share.value, 1e-5);
  EXPECT_NEAR(shifted.remainder_share.value, plain.remainder_share.value, 1e-5);
  EXPECT_GT(plain.remainder_share.value, 1e-3);
}

TEST(Decomposition, WithoutTheFirstKeyItsScoresDoNotCount) {
  const auto map = [](double sink) {
    return make_map(
        40, [=](double i, double j) { return relative_part(i - j) + (j == 0 ? sink * i : 0); });
  };
  EXPECT_GT(decompose_one(map(5)).nonrelative_share.value, 0.3);
  EXPECT_NEAR(decompose_one(map(5), 1).nonrelative_share.value, 0, kRounding);
  EXPECT_EQ(decompose_one(map(5), 1).total.value, decompose_one(map(0), 1).total.value);
}

// Less their row means the rows are 0; (1, -1)/2; (1, -1, 0), so that RSS(g) = 5/2.
// f, with u = f(2) - f(1) and v = f(3) - f(1): minimise
//   (1-u)^2 / 2 + (1-v)^2 + (1+u)^2 - (u+v)^2 / 3.
// The derivatives vanish at 7u - 2v = -3 and 2v = 3 + u: u = 0, v = 3/2, RSS(f+g) = 1.
// h, with p = h(0) - h(1) and q = h(2) - h(1): minimise
//   (1-p)^2 / 2 + (1-p)^2 + 1 + q^2 - (p+q)^2 / 3.
// The derivatives vanish at 7p - 2q = 9 and p = 2q: p = 3/2, q = 3/4, RSS(h+g) = 1/4.
// Together f and h have three free differences, as many as the centred rows: no remainder.
TEST(Decomposition, FourPositionsByHand) {
  Matrix<float> map(4, 4);
  map.values().assign(16, kNan);
  map(1, 0) = 7;  // alone in its row: nothing to compare with
  map(2, 0) = 1;
  map(2, 1) = 0;
  map(3, 0) = 2;
  map(3, 1) = 0;
  map(3, 2) = 1;
  const auto parts = decompose_one(map);
  EXPECT_NEAR(parts.total.value, 2.5 / 6, 1e-15);
  EXPECT_NEAR(parts.nonrelative.value, 1.0 / 6, 1e-14);
  EXPECT_NEAR(parts.nonkey.value, 0.25 / 6, 1e-14);
  EXPECT_NEAR(parts.nonkey_share.value, 0.1, 1e-14);
  EXPECT_NEAR(parts.remainder.value, 0, 1e-14);
  // Without g: 7 1 0 2 0 1 has mean 11/6 and sum of squares 55; diagonals 7 0 1, 1 0 and 2 keep
  // 50 - 64/3 and 1/2 of it.
  EXPECT_NEAR(parts.variance.value, (55 - 121. / 6) / 6, 1e-14);
  EXPECT_NEAR(parts.diagonal_normalised.value, (50 - 64. / 3 + 0.5) / 6, 1e-14);
}

// The paper's normalisation: 0 for relative maps, but moved by row functions, which mean nothing.
TEST(Decomposition, DiagonalNormalisedShareKnowsNoRowFunctions) {
  for (const std::size_t window : {std::size_t{SIZE_MAX}, std::size_t{9}}) {
    const auto relative = [](double i, double j) { return relative_part(i - j); };
    const auto plain = decompose_one(make_map(64, relative, window));
    EXPECT_NEAR(plain.diagonal_normalised_share.value, 0, kRounding);
    EXPECT_GT(plain.variance.value, plain.total.value);
    const auto shifted = decompose_one(make_map(
        64, [&](double i, double j) { return relative(i, j) + row_part(i); }, window));
    EXPECT_GT(shifted.diagonal_normalised_share.value, 0.5);
    EXPECT_NEAR(shifted.nonrelative_share.value, 0, kRounding);
  }
}

TEST(Decomposition, NoiseIsCentredOnZeroOnlyWithGroups) {
  RandomStream random(11, 0);
  const Formula nothing = [](double, double) { return 0; };
  constexpr int kTrials = 200;
  double sum = 0;
  double squares = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto groups = noisy_groups(24, 6, 1, random, nothing);
    const double value = decompose(views(groups), {}).nonrelative.value;
    sum += value;
    squares += value * value;
    EXPECT_GT(decompose({groups[0].view()}, {}).nonrelative.value, 0.5);
  }
  const double mean = sum / kTrials;
  const double error = std::sqrt((squares / kTrials - mean * mean) / kTrials);
  EXPECT_LT(error, 0.005);
  EXPECT_NEAR(mean, 0, 3.5 * error);
}

TEST(Decomposition, EstimatesAreUnbiased) {
  RandomStream random(12, 0);
  const Formula signal = [](double i, double j) {
    return 0.3 * std::log1p(i - j) + 0.1 * std::sqrt(i * j);
  };
  const auto truth = decompose_one(make_map(20, signal));
  constexpr int kTrials = 400;
  double sum = 0;
  double squares = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const double value =
        decompose(views(noisy_groups(20, 4, 0.5, random, signal)), {}).nonrelative.value;
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kTrials;
  const double error = std::sqrt((squares / kTrials - mean * mean) / kTrials);
  EXPECT_NEAR(mean, truth.nonrelative.value, 3.5 * error);
  EXPECT_GT(truth.nonrelative.value, 3.5 * error);
}

// With 8 groups value +- 2 standard errors is an interval of about 92 % (Student, 7 degrees).
TEST(Decomposition, JackknifeIntervalsCover) {
  RandomStream random(13, 0);
  const Formula signal = [](double i, double j) {
    return std::log1p(i - j) + 0.1 * std::sqrt(i * j);
  };
  const auto truth = decompose_one(make_map(16, signal));
  constexpr int kTrials = 400;
  int covered = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto parts = decompose(views(noisy_groups(16, 8, 0.4, random, signal)), {});
    covered += std::abs(parts.nonrelative_share.value - truth.nonrelative_share.value) <
               2 * parts.nonrelative_share.standard_error;
  }
  EXPECT_GT(covered, 0.86 * kTrials);
  EXPECT_LT(covered, 0.99 * kTrials);
}

// Signals of known share, through noise: the 95 % interval holds the truth in about 95 % of
// repetitions. Where the truth is 0, as for relative maps, jackknife errors come out too large, on
// the safe side; without groups the same maps have a share far from it.
TEST(Decomposition, ConfidenceIntervalsCoverTheShare) {
  RandomStream random(14, 0);
  const Formula relative = [](double i, double j) { return std::log1p(i - j); };
  const Formula mixed = [&](double i, double j) { return relative(i, j) + 0.1 * std::sqrt(i * j); };
  for (const bool is_relative : {true, false}) {
    const Formula& signal = is_relative ? relative : mixed;
    const double truth =
        is_relative ? 0 : decompose_one(make_map(16, signal)).nonrelative_share.value;
    constexpr int kTrials = 400;
    int covered = 0;
    double naive = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      const auto groups = noisy_groups(16, 8, 0.4, random, signal);
      const Interval interval = confidence_interval(decompose(views(groups), {}).nonrelative_share);
      covered += interval.low <= truth && truth <= interval.high ? 1 : 0;
      naive += decompose({groups[0].view()}, {}).nonrelative_share.value / kTrials;
    }
    EXPECT_GT(covered, 0.92 * kTrials) << is_relative;
    EXPECT_LT(covered, (is_relative ? 1.01 : 0.985) * kTrials);
    EXPECT_GT(naive, truth + 0.1);
  }
}

TEST(Decomposition, EveryFunctionOfTheDistanceIsRelative) {
  RandomStream random(15, 0);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<double> f(40);
    std::vector<double> h(40);
    std::vector<double> g(40);
    for (std::size_t k = 0; k < 40; ++k)
      f[k] = random.normal(), h[k] = random.normal(), g[k] = 5 * random.normal();
    const auto at = [](const std::vector<double>& values, double k) {
      return values[static_cast<std::size_t>(k)];
    };
    const auto relative =
        decompose_one(make_map(40, [&](double i, double j) { return at(f, i - j) + at(g, i); }));
    EXPECT_NEAR(relative.nonrelative_share.value, 0, kRounding);
    const auto both = decompose_one(
        make_map(40, [&](double i, double j) { return at(f, i - j) + at(h, j) + at(g, i); }));
    EXPECT_NEAR(both.remainder_share.value, 0, kRounding);
    EXPECT_GT(both.nonrelative_share.value, 0.1);
  }
}

TEST(Decomposition, UpperTriangleIsNotRead) {
  Matrix<float> map = make_map(12, [](double i, double j) { return std::sqrt(i * j); });
  const auto causal = decompose_one(map);
  for (std::size_t i = 0; i < 12; ++i) {
    for (std::size_t j = i; j < 12; ++j) map(i, j) = 1e6F * static_cast<float>(i + 2 * j);
  }
  EXPECT_EQ(decompose_one(map).nonrelative.value, causal.nonrelative.value);
}

TEST(Decomposition, OtherPatternsOfHiddenPairsAreRefused) {
  const auto message = [](const Matrix<float>& map, std::int64_t first_key = 0) {
    try {
      decompose_one(map, first_key);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const Formula formula = [](double i, double j) { return i * j; };
  Matrix<float> hole = make_map(8, formula);
  hole(5, 2) = kNan;
  EXPECT_THAT(message(hole), testing::HasSubstr("query 5, key 2"));
  Matrix<float> wide = make_map(8, formula, 4);
  wide(6, 1) = 1;
  EXPECT_THAT(message(wide), testing::HasSubstr("query 6, key 1"));
  Matrix<float> infinite = make_map(8, formula);
  infinite(3, 1) = std::numeric_limits<float>::infinity();
  EXPECT_THAT(message(infinite), testing::HasSubstr("query 3, key 1"));
  EXPECT_THAT(message(make_map(8, formula, 2)), testing::HasSubstr("at least 2"));
  EXPECT_THAT(message(make_map(3, formula)), testing::HasSubstr("at least 4"));
  EXPECT_THAT(message(make_map(4, formula), 1), testing::HasSubstr("at least 5"));
  EXPECT_EQ(message(make_map(4, formula)), "no error");
}

TEST(Decomposition, ConstantMapsHaveNoShares) {
  const auto parts = decompose_one(make_map(30, [](double i, double) { return 0.2 + 0.1 * i; }));
  EXPECT_LT(parts.total.value, 1e-25);
  EXPECT_TRUE(std::isnan(parts.nonrelative_share.value));
  EXPECT_TRUE(std::isnan(parts.remainder_share.value));
}

TEST(Decomposition, LargeMaps) {
  const auto parts = decompose_one(make_map(test::kSanitized ? 1500 : 4096, [](double i, double j) {
    return 2 * std::log1p(i - j) + (j == 0 ? 100 : 0) + 20 * std::sin(i);
  }));
  EXPECT_LT(std::abs(parts.remainder_share.value), 1e-9);
  EXPECT_GT(parts.nonkey_share.value, 0);
}

}  // namespace
}  // namespace poslens
