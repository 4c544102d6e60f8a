#include "poslens/curves.h"

#include <gtest/gtest.h>

#include <cmath>

namespace poslens {
namespace {

// One layer whose scores are function(i, j), j <= i.
template <typename Function>
ScoreMap causal_map(std::int64_t n, const Function& function) {
  ScoreMap map = ScoreMap::sized({0}, n);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      map.scores[static_cast<std::size_t>(i * n + j)] = static_cast<float>(function(i, j));
      map.count[static_cast<std::size_t>(i * n + j)] = 4;
    }
  }
  return map;
}

std::vector<double> values(const Curve& curve) {
  std::vector<double> result;
  for (const Estimate& mean : curve.mean) result.push_back(mean.value);
  return result;
}

// By hand: rows 0; 1, -1; 2, 0, -2 once their means are gone.
TEST(Curves, AreMeansOfScoresMinusTheirRowsMeans) {
  const ScoreMap map =
      causal_map(3, [](std::int64_t i, std::int64_t j) { return 10.0 * i + i - 2.0 * j; });
  const LayerCurves curves = curves_of(map)[0];
  EXPECT_EQ(curves.by_distance.first, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(curves.by_distance.last, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(values(curves.by_distance), (std::vector<double>{-1, 0.5, 2}));
  EXPECT_EQ(curves.by_key.first, (std::vector<std::int64_t>{0, 1})) << "key 2 has no later query";
  EXPECT_EQ(values(curves.by_key), (std::vector<double>{1.5, 0}));
  EXPECT_TRUE(std::isnan(curves.by_distance.mean[0].standard_error)) << "no groups";
}

TEST(Curves, DoNotChangeWithFunctionsOfTheQuery) {
  const auto relative = [](std::int64_t i, std::int64_t j) { return std::cos(i - j); };
  const LayerCurves plain = curves_of(causal_map(70, relative))[0];
  const LayerCurves moved = curves_of(causal_map(
      70, [&](std::int64_t i, std::int64_t j) { return relative(i, j) + 0.1 * i * i; }))[0];
  ASSERT_EQ(plain.by_key.mean.size(), moved.by_key.mean.size());
  for (std::size_t k = 0; k < plain.by_key.mean.size(); ++k) {
    EXPECT_NEAR(plain.by_key.mean[k].value, moved.by_key.mean[k].value, 1e-4);
    EXPECT_NEAR(plain.by_distance.mean[k].value, moved.by_distance.mean[k].value, 1e-4);
  }
}

TEST(Curves, BinsCoverEveryPositionOnce) {
  for (const std::int64_t n : {1, 2, 5, 64, 1000}) {
    const LayerCurves curves = curves_of(causal_map(n, [](auto, auto) { return 1.0; }))[0];
    const Curve& curve = curves.by_distance;
    EXPECT_EQ(curve.first.front(), 0);
    EXPECT_EQ(curve.last.back(), n - 1);
    for (std::size_t k = 1; k < curve.first.size(); ++k) {
      EXPECT_EQ(curve.first[k], curve.last[k - 1] + 1);
      EXPECT_LE(curve.first[k], curve.last[k]);
    }
    EXPECT_LE(curve.first.size(), 60U);
  }
}

// By hand.
TEST(Curves, StandardErrorsComeFromTheGroups) {
  ScoreMap map = causal_map(2, [](std::int64_t i, std::int64_t j) { return i == j ? 1.0 : 0.0; });
  map.groups = 2;
  const float nan = NAN;
  map.scores_groups = {0, nan, 0, 0, 0, nan, 0, 4};
  const LayerCurves curves = curves_of(map)[0];
  // Row 0 is 0 in both; row 1 is (0, 0) and (-2, 2): means at distance 0 are 0 and 1.
  EXPECT_NEAR(curves.by_distance.mean[0].standard_error, 0.5, 1e-12);
  EXPECT_NEAR(curves.by_distance.mean[1].standard_error, 1, 1e-12);
}

}  // namespace
}  // namespace poslens
