#include "poslens/key_order.h"

#include <gtest/gtest.h>

#include <cmath>

#include "metrics/support.h"
#include "poslens/decomposition.h"

namespace poslens {
namespace {

KeyOrder order_of(const Matrix<float>& map, std::int64_t first_key = 0) {
  return key_order({map.view()}, {first_key});
}

// Rows 1 2; 3 1 2; 5 5 4 7 below the diagonal: rising pairs 1; 1 (1 2); 3 (to 7) and a tie, of
// 1 + 3 + 6 pairs. Steps up: 1; 1; 1 and a tie, of 1 + 2 + 3. Rows that rise: the first of three.
TEST(KeyOrder, FivePositionsByHand) {
  Matrix<float> map = make_map(5, [](double, double) { return 0; });
  map(2, 0) = 1, map(2, 1) = 2;
  map(3, 0) = 3, map(3, 1) = 1, map(3, 2) = 2;
  map(4, 0) = 5, map(4, 1) = 5, map(4, 2) = 4, map(4, 3) = 7;
  const KeyOrder order = order_of(map);
  EXPECT_DOUBLE_EQ(order.recency.value, (1 + 1 + 3.5) / 10);
  EXPECT_DOUBLE_EQ(order.rising_steps.value, (1 + 1 + 1.5) / 6);
  EXPECT_DOUBLE_EQ(order.rising_rows.value, 1. / 3);
  // Without key 0: rows 1 2; 5 4 7.
  const KeyOrder without = order_of(map, 1);
  EXPECT_DOUBLE_EQ(without.recency.value, (1 + 2) / 4.);
  EXPECT_DOUBLE_EQ(without.rising_rows.value, 1. / 2);
}

TEST(KeyOrder, RisingFallingAndConstantMaps) {
  for (const std::size_t window : {std::size_t{SIZE_MAX}, std::size_t{21}}) {
    const auto up = order_of(make_map(
        70, [](double i, double j) { return -(i - j); }, window));
    EXPECT_EQ(up.recency.value, 1);
    EXPECT_EQ(up.rising_steps.value, 1);
    EXPECT_EQ(up.rising_rows.value, 1);
    const auto down = order_of(make_map(
        70, [](double i, double j) { return i - j; }, window));
    EXPECT_EQ(down.recency.value, 0);
    EXPECT_EQ(down.rising_steps.value, 0);
    const auto flat = order_of(make_map(
        70, [](double i, double) { return i; }, window));
    EXPECT_EQ(flat.recency.value, 0.5);
    EXPECT_EQ(flat.rising_steps.value, 0.5);
    EXPECT_EQ(flat.rising_rows.value, 0);
  }
}

// Against the definition, at sizes around those of the sorted blocks, with ties.
TEST(KeyOrder, CountsEveryPair) {
  RandomStream random(5, 0);
  for (const std::size_t n : {9U, 10U, 17U, 18U, 33U, 67U}) {
    const Matrix<float> map =
        make_map(n, [&](double, double) { return std::floor(3 * random.normal()); });
    double won = 0;
    double pairs = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        for (std::size_t j = 0; j < k; ++j) {
          won += map(i, k) > map(i, j) ? 1 : map(i, k) == map(i, j) ? 0.5 : 0;
          ++pairs;
        }
      }
    }
    EXPECT_DOUBLE_EQ(order_of(map).recency.value, won / pairs) << n;
  }
}

TEST(KeyOrder, BothAtOnceAreEachAlone) {
  RandomStream random(9, 0);
  const Formula signal = [](double i, double j) { return 0.1 * (j - i); };
  for (const std::size_t window : {std::size_t{SIZE_MAX}, std::size_t{3}, std::size_t{11}}) {
    const auto groups = noisy_groups(26, 4, 1, random, signal, window);
    const KeyOrders found = key_orders(views(groups));
    const auto expect_same = [](const Estimate& a, const Estimate& b) {
      EXPECT_DOUBLE_EQ(a.value, b.value);
      EXPECT_DOUBLE_EQ(a.standard_error, b.standard_error);
    };
    for (const std::int64_t first_key : {0, 1}) {
      const KeyOrder expected = key_order(views(groups), {first_key});
      const KeyOrder& order = first_key == 0 ? found.all_keys : found.without_first_key;
      expect_same(order.recency, expected.recency);
      expect_same(order.rising_steps, expected.rising_steps);
      expect_same(order.rising_rows, expected.rising_rows);
    }
  }
}

TEST(KeyOrder, RowFunctionsAndIncreasingFunctionsChangeNothing) {
  RandomStream random(6, 0);
  const Matrix<float> map = make_map(40, [&](double, double) { return random.normal(); });
  const Matrix<float> other = make_map(40, [&](double i, double j) {
    return std::exp(map(static_cast<std::size_t>(i), static_cast<std::size_t>(j))) + std::sin(i);
  });
  EXPECT_EQ(order_of(map).recency.value, order_of(other).recency.value);
  EXPECT_EQ(order_of(map).rising_steps.value, order_of(other).rising_steps.value);
  EXPECT_EQ(order_of(map).rising_rows.value, order_of(other).rising_rows.value);
}

// The error of a count over a noisy map is the spread of the count over repetitions.
TEST(KeyOrder, StandardErrorIsTheSpread) {
  RandomStream random(7, 0);
  const Formula signal = [](double i, double j) { return 0.02 * (j - i); };
  constexpr int kTrials = 200;
  double sum = 0;
  double squares = 0;
  double error = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Estimate recency = key_order(views(noisy_groups(24, 8, 1, random, signal)), {}).recency;
    sum += recency.value / kTrials;
    squares += recency.value * recency.value / kTrials;
    error += recency.standard_error / kTrials;
  }
  const double spread = std::sqrt(squares - sum * sum);
  EXPECT_GT(spread, 0);
  EXPECT_NEAR(error / spread, 1, 0.15);
}

}  // namespace
}  // namespace poslens
