#include "poslens/difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "poslens/error.h"

namespace poslens {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

ScoreMap small_map(std::vector<float> scores, std::vector<std::int64_t> count) {
  ScoreMap map;
  map.n = 2;
  map.layers = {3};
  map.scores = std::move(scores);
  map.count = std::move(count);
  return map;
}

TEST(Difference, PairsHiddenInEitherAreHidden) {
  ScoreMap a = small_map({5, kNan, 7, 8}, {4, 0, 4, 4});
  ScoreMap b = small_map({1, 2, kNan, 10}, {6, 6, 0, 3});
  a.provenance.averaging = "mean over 4 sequences";
  b.provenance.interventions = {"mask=full"};
  a.provenance.model = b.provenance.model = "tiny";
  a.provenance.text = "one";
  b.provenance.text = "two";
  a.loss = {1};
  const ScoreMap result = difference(a, b);
  EXPECT_EQ(result.scores[0], 4);
  EXPECT_TRUE(std::isnan(result.scores[1]));
  EXPECT_TRUE(std::isnan(result.scores[2]));
  EXPECT_EQ(result.scores[3], -2);
  EXPECT_EQ(result.count, (std::vector<std::int64_t>{4, 0, 0, 3}));
  EXPECT_EQ(result.layers, a.layers);
  EXPECT_TRUE(result.loss.empty());
  EXPECT_EQ(result.provenance.model, "tiny");
  EXPECT_EQ(result.provenance.text, "");
  EXPECT_THAT(result.provenance.averaging, testing::HasSubstr("a: theory tiny, mean over 4"));
  EXPECT_THAT(result.provenance.averaging, testing::HasSubstr("b: theory tiny, mask=full"));
}

TEST(Difference, GroupsAreKeptWhenBothHaveThem) {
  ScoreMap a = small_map({1, 2, 3, 4}, {1, 1, 1, 1});
  ScoreMap b = a;
  a.groups = 2;
  a.scores_groups = {0, 1, 2, 3, 2, 3, 4, 5};
  EXPECT_TRUE(difference(a, b).scores_groups.empty());
  b.groups = 2;
  b.scores_groups = {0, 0, 0, 0, 1, 1, 1, 1};
  EXPECT_EQ(difference(a, b).scores_groups, (std::vector<float>{0, 1, 2, 3, 1, 2, 3, 4}));
  EXPECT_EQ(difference(a, b).groups, 2);
  b.groups = 1;
  b.scores_groups = {1, 2, 3, 4};
  EXPECT_EQ(difference(a, b).groups, 0);
}

TEST(Difference, MapsThatDoNotCompareAreRefused) {
  const ScoreMap a = small_map({1, 2, 3, 4}, {1, 1, 1, 1});
  ScoreMap layers = a;
  layers.layers = {2};
  EXPECT_THROW(difference(a, layers), Error);
  ScoreMap stage = a;
  stage.stage = Stage::raw;
  EXPECT_THROW(difference(a, stage), Error);
  EXPECT_THROW(difference(a, ScoreMap::sized({3}, 3)), Error);
}

}  // namespace
}  // namespace poslens
