#include "poslens/measures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "metrics/support.h"
#include "poslens/error.h"
#include "poslens/position_decoding.h"

namespace poslens {
namespace {

// A map of one layer; its groups, when there are several.
ScoreMap score_map(const std::vector<Matrix<float>>& groups) {
  const std::size_t n = groups[0].rows();
  ScoreMap map = ScoreMap::sized({0}, static_cast<std::int64_t>(n));
  std::vector<double> sum(n * n, 0);
  for (const Matrix<float>& group : groups) {
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += static_cast<double>(group.values()[k]);
  }
  for (std::size_t k = 0; k < sum.size(); ++k) {
    map.scores[k] = static_cast<float>(sum[k] / static_cast<double>(groups.size()));
    map.count[k] = std::isnan(sum[k]) ? 0 : 1;
  }
  if (groups.size() > 1) {
    map.groups = static_cast<std::int64_t>(groups.size());
    for (const Matrix<float>& group : groups) {
      map.scores_groups.insert(map.scores_groups.end(), group.values().begin(),
                               group.values().end());
    }
  }
  return map;
}

// Sums of squares of rows 2, 3, 4 about their means: 1/2, 2/3, 3; without key 0: 0, 1/2, 0.
TEST(Measures, FirstKeyShareByHand) {
  Matrix<float> map = make_map(5, [](double, double) { return 0; });
  map(2, 0) = 1;
  map(3, 0) = 1, map(3, 2) = 1;
  map(4, 0) = 2;
  const auto layer = measure(score_map({map}))[0];
  EXPECT_NEAR(layer.first_key_share.value, 1 - 0.5 / (0.5 + 2. / 3 + 3), 1e-14);
}

TEST(Measures, FirstKeyShareIsOneForASinkAlone) {
  const Formula sink = [](double i, double j) { return (j == 0 ? 2 + std::sin(i) : 0) - i; };
  for (const std::size_t window : {std::size_t{SIZE_MAX}, std::size_t{12}}) {
    const auto layer = measure(score_map({make_map(30, sink, window)}))[0];
    EXPECT_NEAR(layer.first_key_share.value, 1, 1e-9);
  }
  const auto nothing = measure(score_map({make_map(30, [](double i, double) { return i; })}))[0];
  EXPECT_TRUE(std::isnan(nothing.first_key_share.value));
}

TEST(Measures, EveryNameIsUsedOnce) {
  const LayerMeasures measures;
  std::set<std::string> names;
  std::set<const Estimate*> estimates;
  for (const auto& [name, estimate] : named_estimates(measures)) {
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_TRUE(estimates.insert(estimate).second) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789"), std::string::npos);
  }
}

// With groups every measure has an error; none changes when functions of the row are added, but for
// the three of the paper's normalisation.
TEST(Measures, RowFunctionsChangeNothing) {
  RandomStream random(21, 0);
  const Formula signal = [](double i, double j) {
    return std::log1p(i - j) + 0.1 * std::sqrt(i * j) + (j == 0 ? 2 : 0);
  };
  std::vector<Matrix<float>> groups = noisy_groups(70, 5, 0.2, random, signal);
  for (Matrix<float>& map : groups) {
    for (std::size_t i = 0; i < 70; ++i) map(i, i) = 1;
  }
  std::vector<Matrix<float>> shifted = groups;
  for (Matrix<float>& map : shifted) {
    for (std::size_t i = 0; i < 70; ++i) {
      for (float& score : map.row(i)) score += static_cast<float>((i * i) % 7) * 4;
    }
  }
  const LayerMeasures plain = measure(score_map(groups))[0];
  const LayerMeasures moved = measure(score_map(shifted))[0];
  const auto named = named_estimates(plain);
  const auto named_moved = named_estimates(moved);
  for (std::size_t k = 0; k < named.size(); ++k) {
    const auto& [name, estimate] = named[k];
    if (name.starts_with("attention_") || name.starts_with("sink_heads")) {
      EXPECT_TRUE(std::isnan(estimate->value)) << name;  // neither probs nor heads were kept
      continue;
    }
    if (name.starts_with("mean_field_alpha")) {
      EXPECT_TRUE(std::isnan(estimate->value)) << name;  // in the first layer any fits
      continue;
    }
    const bool plain_normalisation =
        name.starts_with("variance") || name.starts_with("diagonal_normalised");
    if (plain_normalisation) {
      EXPECT_GT(std::abs(named_moved[k].second->value - estimate->value), 0.01) << name;
    } else {
      EXPECT_NEAR(named_moved[k].second->value, estimate->value, 2e-5) << name;
      EXPECT_NEAR(named_moved[k].second->standard_error, estimate->standard_error, 2e-5) << name;
    }
  }
}

// Of six tokens the first is left out. Two of five positions at random are 1.6 apart (25 pairs: 8
// by 1, 6 by 2, 4 by 3, 2 by 4), and the middle is off by 2, 1, 0, 1, 2.
TEST(PositionDecoding, StandsBesideWhatGuessesComeTo) {
  ScoreMap map = ScoreMap::sized({2}, 6);
  EXPECT_TRUE(position_decoding(map).rows.empty());
  map.decoding_r2 = {0.5, 0.75};
  map.decoding_error = {1, 0.5};
  map.decoding_r2_leave_one_out = {0.5, 0.8, 0.5, 0.7};
  map.decoding_error_leave_one_out = {0.9, 0.5, 1.1, 0.5};
  const PositionDecoding decoding = position_decoding(map);
  EXPECT_FALSE(decoding.of_scores);
  EXPECT_EQ(decoding.positions, 5);
  EXPECT_DOUBLE_EQ(decoding.chance, 1.6);
  EXPECT_DOUBLE_EQ(decoding.middle, 1.2);
  ASSERT_EQ(decoding.rows.size(), 2u);
  EXPECT_EQ(decoding.rows[0].layer, 2);
  EXPECT_FALSE(decoding.rows[0].leaves);
  EXPECT_EQ(decoding.rows[0].r2.standard_error, 0);
  EXPECT_NEAR(decoding.rows[0].error.standard_error, 0.1, 1e-12);
  EXPECT_EQ(decoding.rows[1].layer, 2);
  EXPECT_TRUE(decoding.rows[1].leaves);
  EXPECT_NEAR(decoding.rows[1].r2.standard_error, 0.05, 1e-12);
}

TEST(PositionDecoding, OfAReadoutIsOfTheQueriesThatItRead) {
  ScoreMap map = ScoreMap::sized({0, 1}, 9);
  map.readout_r2 = {0, 0.5};
  map.readout_error = {1.5, 1};
  EXPECT_THROW(position_decoding(map), Error);
  map.provenance.options = {{"readout-keys", "3"}};
  const PositionDecoding decoding = position_decoding(map);
  EXPECT_TRUE(decoding.of_scores);
  EXPECT_EQ(decoding.positions, 6);
  EXPECT_DOUBLE_EQ(decoding.chance, 35.0 / 18);
  EXPECT_DOUBLE_EQ(decoding.middle, 1.5);
  ASSERT_EQ(decoding.rows.size(), 2u);
  EXPECT_EQ(decoding.rows[1].r2.value, 0.5);
  EXPECT_TRUE(std::isnan(decoding.rows[1].error.standard_error));
  for (const char* wrong : {"many", "-1", "9", ""}) {
    map.provenance.options[0].second = wrong;
    EXPECT_THROW(position_decoding(map), Error) << wrong;
  }
}

}  // namespace
}  // namespace poslens
