#include "poslens/attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "metrics/support.h"
#include "poslens/error.h"

namespace poslens {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// formula(i, j) where the keys are shown, 0 <= i - j < window, or all of them.
Matrix<float> attention_map(std::size_t n, const Formula& formula, std::size_t window = SIZE_MAX,
                            bool full = false) {
  Matrix<float> map(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const bool shown = full || (j <= i && i - j < window);
      map(i, j) = static_cast<float>(shown ? formula(static_cast<double>(i), static_cast<double>(j))
                                           : kNan);
    }
  }
  return map;
}

ScoreMap score_map(const std::vector<Matrix<float>>& layers, std::vector<int> numbers = {}) {
  if (numbers.empty()) {
    for (std::size_t k = 0; k < layers.size(); ++k) numbers.push_back(static_cast<int>(k));
  }
  ScoreMap map = ScoreMap::sized(numbers, static_cast<std::int64_t>(layers[0].rows()));
  map.scores.clear();
  for (const Matrix<float>& layer : layers) {
    map.scores.insert(map.scores.end(), layer.values().begin(), layer.values().end());
  }
  return map;
}

const Formula kNothing = [](double, double) { return 0; };

// Rows ln 1; ln 3 ln 1; ln 2 ln 1 ln 1: attention 1; 3/4 1/4; 1/2 1/4 1/4.
TEST(SoftmaxMeasures, ThreePositionsByHand) {
  Matrix<float> map = attention_map(3, kNothing);
  map(1, 0) = std::log(3.0F);
  map(2, 0) = std::log(2.0F);
  const AttentionMeasures measures = softmax_measures(score_map({map}))[0];
  EXPECT_NEAR(measures.first_key.value, (1 + 0.75 + 0.5) / 3, 1e-7);
  EXPECT_NEAR(measures.first_key_without_first_key.value, (1 + 0.5) / 2, 1e-7);
  EXPECT_TRUE(std::isnan(measures.first_key_64.value));
  EXPECT_NEAR(measures.distance.value, (0.75 + 2 * 0.5 + 0.25) / 2, 1e-7);
  EXPECT_NEAR(measures.distance_without_first_key.value, 0.5, 1e-7);
  const double of_1 = -(0.75 * std::log(0.75) + 0.25 * std::log(0.25));
  const double of_2 = 1.5 * std::log(2);
  EXPECT_NEAR(measures.entropy.value, (of_1 / std::log(2) + of_2 / std::log(3)) / 2, 1e-7);
  EXPECT_NEAR(measures.entropy_without_first_key.value, 1, 1e-7);
  ASSERT_EQ(measures.entropy_by_position.values.size(), 3);
  EXPECT_EQ(measures.entropy_by_position.values[0], 0);
  EXPECT_NEAR(measures.entropy_by_position.values[2], of_2, 1e-7);
  EXPECT_NEAR(measures.first_key_by_position.values[2], 0.5, 1e-7);
  EXPECT_NEAR(measures.distance_by_position.values[2], 1.25, 1e-7);
}

// Under a window of 3 in 5 positions: query 4 sees keys 2, 3, 4 and no longer key 0.
TEST(SoftmaxMeasures, HiddenKeysGetNothing) {
  const auto causal = softmax_measures(score_map({attention_map(5, kNothing, 3)}))[0];
  EXPECT_NEAR(causal.first_key.value, (1 + 1. / 2 + 1. / 3) / 5, 1e-12);
  EXPECT_NEAR(causal.distance.value, (0.5 + 1 + 1 + 1) / 4, 1e-12);
  EXPECT_NEAR(causal.entropy.value, 1, 1e-12);
  const auto full = softmax_measures(score_map({attention_map(5, kNothing, 0, true)}))[0];
  EXPECT_NEAR(full.first_key.value, 0.2, 1e-12);
  EXPECT_NEAR(full.distance.value, (1.4 + 1.2 + 1.4 + 2) / 4, 1e-12);
  EXPECT_NEAR(full.rollout_distance.value, (-1 + 0 + 1 + 2) / 4., 1e-12);
}

TEST(SoftmaxMeasures, UniformAttention) {
  const auto measures = softmax_measures(score_map({attention_map(80, kNothing)}))[0];
  EXPECT_NEAR(measures.distance.value, 20, 1e-12);
  EXPECT_NEAR(measures.distance_without_first_key.value, 79 / 4., 1e-12);
  EXPECT_NEAR(measures.entropy.value, 1, 1e-12);
  double harmonic = 0;
  for (int i = 1; i <= 64; ++i) harmonic += 1. / i;
  EXPECT_NEAR(measures.first_key_64.value, harmonic / 64, 1e-12);
  EXPECT_LT(measures.first_key.value, measures.first_key_64.value);
}

// Scores hundreds apart: what is known without the sink keeps its digits.
TEST(SoftmaxMeasures, StrongSinks) {
  const Formula sink = [](double, double j) { return j == 0 ? 1000 : 0; };
  const auto measures = softmax_measures(score_map({attention_map(80, sink)}))[0];
  EXPECT_NEAR(measures.first_key.value, 1, 1e-12);
  EXPECT_NEAR(measures.distance.value, 40, 1e-12);
  EXPECT_NEAR(measures.distance_without_first_key.value, 79 / 4., 1e-12);
  EXPECT_NEAR(measures.entropy_without_first_key.value, 1, 1e-12);
}

// Probabilities that are the softmax of the scores give the same numbers; a mean of different ones
// does not.
TEST(AttentionMeasures, OfKeptProbabilities) {
  RandomStream random(31, 0);
  std::vector<Matrix<float>> layers;
  layers.reserve(3);
  for (int layer = 0; layer < 3; ++layer) {
    layers.push_back(attention_map(70, [&](double, double) { return 2 * random.normal(); }));
  }
  ScoreMap map = score_map(layers);
  EXPECT_TRUE(std::isnan(attention_measures(map)[0].first_key.value));
  for (const Matrix<float>& layer : layers) {
    const Matrix<double> attention = softmax_rows(layer.view());
    for (std::size_t k = 0; k < attention.values().size(); ++k) {
      const bool hidden = std::isnan(layer.values()[k]);
      map.probs.push_back(static_cast<float>(hidden ? kNan : attention.values()[k]));
    }
  }
  const auto of_scores = softmax_measures(map);
  const auto of_probs = attention_measures(map);
  for (std::size_t place = 0; place < 3; ++place) {
    const AttentionMeasures& a = of_probs[place];
    const AttentionMeasures& b = of_scores[place];
    EXPECT_NEAR(a.first_key.value, b.first_key.value, 1e-6);
    EXPECT_NEAR(a.first_key_64.value, b.first_key_64.value, 1e-6);
    EXPECT_NEAR(a.distance.value, b.distance.value, 1e-5);
    EXPECT_NEAR(a.distance_without_first_key.value, b.distance_without_first_key.value, 1e-5);
    EXPECT_NEAR(a.entropy.value, b.entropy.value, 1e-6);
    EXPECT_NEAR(a.entropy_without_first_key.value, b.entropy_without_first_key.value, 1e-6);
    EXPECT_NEAR(a.rollout_first_key.value, b.rollout_first_key.value, 1e-6);
    EXPECT_NEAR(a.residual_rollout_distance.value, b.residual_rollout_distance.value, 1e-5);
    EXPECT_TRUE(std::isnan(a.first_key.standard_error));
  }
}

// Groups give errors: the measure of the mean, jackknifed over means without one group.
TEST(SoftmaxMeasures, Groups) {
  RandomStream random(32, 0);
  std::vector<Matrix<float>> groups;
  groups.reserve(3);
  for (int group = 0; group < 3; ++group) {
    groups.push_back(attention_map(20, [&](double, double) { return random.normal(); }));
  }
  const auto of_mean = [&](const std::vector<std::size_t>& which) {
    return softmax_measures(score_map(
        {attention_map(20,
                       [&](double i, double j) {
                         double sum = 0;
                         for (const std::size_t k : which) {
                           sum += static_cast<double>(
                               groups[k](static_cast<std::size_t>(i), static_cast<std::size_t>(j)));
                         }
                         return sum / static_cast<double>(which.size());
                       })}))[0]
        .residual_rollout_distance.value;
  };
  ScoreMap map = score_map({groups[0]});
  map.groups = 3;
  for (const Matrix<float>& group : groups) {
    map.scores_groups.insert(map.scores_groups.end(), group.values().begin(), group.values().end());
  }
  const AttentionMeasures measures = softmax_measures(map)[0];
  const Estimate expected =
      jackknife(of_mean({0, 1, 2}), {of_mean({1, 2}), of_mean({0, 2}), of_mean({0, 1})});
  EXPECT_NEAR(measures.residual_rollout_distance.value, expected.value, 1e-12);
  EXPECT_NEAR(measures.residual_rollout_distance.standard_error, expected.standard_error, 1e-12);
  EXPECT_GT(measures.entropy_by_position.standard_errors[5], 0);
}

// Uniform causal attention of six positions, three layers deep: reference values of the closed form
// (N^H)_nj = C(n-1, j-1) sum_i (-1)^i C(n-j, i) / (j+i)^H.
TEST(Rollout, UniformAttentionInClosedForm) {
  const Matrix<double> uniform = softmax_rows(attention_map(6, kNothing).view());
  const Matrix<double> plain = rollout({uniform, uniform, uniform}, 1);
  EXPECT_NEAR(plain(5, 0), 13489. / 21600, 1e-14);
  EXPECT_NEAR(plain(5, 1), 4669. / 21600, 1e-14);
  EXPECT_NEAR(plain(5, 2), 2059. / 21600, 1e-14);
  // With (1 - 1/2 + 1/2 / (j+i))^H in place of it.
  const Matrix<double> residual = rollout({uniform, uniform, uniform}, 0.5);
  const double binomial[] = {1, 5, 10, 10, 5, 1};
  double expected = 0;
  for (int i = 0; i < 6; ++i) {
    expected += (i % 2 == 0 ? 1 : -1) * binomial[i] * std::pow(0.5 + 0.5 / (1 + i), 3);
  }
  EXPECT_NEAR(residual(5, 0), expected, 1e-14);
  EXPECT_NEAR(residual(5, 5), std::pow(1 - 0.5 * (1 - 1. / 6), 3), 1e-14);
}

TEST(Rollout, MeasuresAreThoseOfTheMatrix) {
  RandomStream random(33, 0);
  for (const bool full : {false, true}) {
    std::vector<Matrix<float>> layers;
    std::vector<Matrix<double>> attentions;
    for (int layer = 0; layer < 4; ++layer) {
      layers.push_back(attention_map(
          12, [&](double, double) { return random.normal(); }, SIZE_MAX, full));
      attentions.push_back(softmax_rows(layers.back().view()));
    }
    const auto measures = softmax_measures(score_map(layers));
    for (std::size_t depth = 1; depth <= 4; ++depth) {
      for (const double mixing : {1.0, 0.5}) {
        const Matrix<double> matrix =
            rollout({attentions.begin(), attentions.begin() + static_cast<int>(depth)}, mixing);
        double first = 0;
        double distance = 0;
        for (std::size_t i = 0; i < 12; ++i) {
          first += matrix(i, 0) / 12;
          for (std::size_t j = 0; i > 0 && j < 12; ++j) {
            distance += matrix(i, j) * (static_cast<double>(i) - static_cast<double>(j)) / 11;
          }
        }
        const AttentionMeasures& found = measures[depth - 1];
        EXPECT_NEAR(
            (mixing == 1 ? found.rollout_first_key : found.residual_rollout_first_key).value, first,
            1e-12);
        EXPECT_NEAR((mixing == 1 ? found.rollout_distance : found.residual_rollout_distance).value,
                    distance, 1e-12);
      }
    }
  }
}

// Without key 0 the first position might as well not be there.
TEST(Rollout, WithoutTheFirstKey) {
  RandomStream random(34, 0);
  std::vector<Matrix<float>> layers;
  std::vector<Matrix<float>> cut;
  for (int layer = 0; layer < 3; ++layer) {
    layers.push_back(attention_map(10, [&](double, double) { return random.normal(); }));
    cut.push_back(attention_map(9, [&](double i, double j) {
      return layers.back()(static_cast<std::size_t>(i) + 1, static_cast<std::size_t>(j) + 1);
    }));
  }
  const AttentionMeasures with = softmax_measures(score_map(layers))[2];
  const AttentionMeasures without = softmax_measures(score_map(cut))[2];
  EXPECT_NEAR(with.first_key_without_first_key.value, without.first_key.value, 1e-12);
  EXPECT_NEAR(with.distance_without_first_key.value, without.distance.value, 1e-12);
  EXPECT_NEAR(with.entropy_without_first_key.value, without.entropy.value, 1e-12);
  EXPECT_NEAR(with.rollout_distance_without_first_key.value, without.rollout_distance.value, 1e-12);
  EXPECT_NEAR(with.residual_rollout_distance_without_first_key.value,
              without.residual_rollout_distance.value, 1e-12);
}

TEST(Rollout, IsUnknownAfterAGapOfLayers) {
  const Matrix<float> map = attention_map(6, kNothing);
  const auto measures = softmax_measures(score_map({map, map, map}, {2, 3, 5}));
  EXPECT_TRUE(std::isfinite(measures[1].rollout_first_key.value));
  EXPECT_TRUE(std::isnan(measures[2].rollout_first_key.value));
  EXPECT_TRUE(std::isnan(measures[2].residual_rollout_distance.value));
  EXPECT_TRUE(std::isfinite(measures[2].distance.value));
}

TEST(Rollout, WhatIsNoAttentionIsRefused) {
  Matrix<float> map = attention_map(4, kNothing);
  const Matrix<double> attention = softmax_rows(map.view());
  EXPECT_THROW(rollout({}, 1), Error);
  EXPECT_THROW(rollout({attention}, 1.5), UsageError);
  EXPECT_THROW(rollout({attention, Matrix<double>(5, 5)}, 1), Error);
  map(0, 0) = static_cast<float>(kNan);
  EXPECT_THROW(softmax_rows(map.view()), Error);
}

// Of two heads one is a sink; their rollout is that of the mean attention.
TEST(HeadSoftmaxMeasures, SinkRateAndRollout) {
  const Matrix<float> uniform = attention_map(70, kNothing);
  const Matrix<float> sink = attention_map(70, [](double, double j) { return j == 0 ? 5 : 0; });
  ScoreMap map = score_map({uniform, uniform});
  EXPECT_TRUE(head_softmax_measures(map).empty());
  map.heads = 2;
  std::vector<Matrix<double>> mean(1, Matrix<double>(70, 70));
  for (const Matrix<float>* head : {&uniform, &sink, &sink, &uniform}) {
    map.scores_heads.insert(map.scores_heads.end(), head->values().begin(), head->values().end());
  }
  for (const Matrix<float>* head : {&uniform, &sink}) {
    const Matrix<double> attention = softmax_rows(head->view());
    for (std::size_t k = 0; k < attention.values().size(); ++k) {
      mean[0].values()[k] += attention.values()[k] / 2;
    }
  }
  const auto heads = head_softmax_measures(map);
  ASSERT_EQ(heads.size(), 2);
  EXPECT_LT(heads[0][0].first_key.value, kSinkThreshold);
  EXPECT_GT(heads[0][1].first_key.value, kSinkThreshold);
  EXPECT_EQ(sink_rate(heads[0]).all_queries, 0.5);
  EXPECT_EQ(sink_rate(heads[0]).first_64, 0.5);
  mean.push_back(softmax_rows(sink.view()));
  const Matrix<double> expected = rollout(mean, 1);
  double first = 0;
  for (std::size_t i = 0; i < 70; ++i) first += expected(i, 0) / 70;
  EXPECT_NEAR(heads[1][0].rollout_first_key.value, first, 1e-12);
  EXPECT_TRUE(std::isnan(sink_rate({}).all_queries));
}

// Columns and diagonals of probabilities are exact in pooled maps.
TEST(AttentionMeasures, OfPooledMaps) {
  constexpr std::size_t n = 7;
  ScoreMap map = ScoreMap::sized({0}, 2);
  map.pool = 4;
  map.pooled_positions = n;
  const Matrix<float> shown =
      attention_map(n, [](double i, double j) { return std::sin(3 * i + j); });
  const Matrix<double> attention = softmax_rows(shown.view());
  std::vector<double> columns(n, 0);
  std::vector<double> diagonals(2 * n - 1, kNan);
  for (std::size_t t = 0; t < n; ++t) {
    double sum = 0;
    for (std::size_t i = t; i < n; ++i) {
      sum += attention(i, i - t);
      columns[t] += attention(i, t) / static_cast<double>(n - t);
    }
    diagonals[n - 1 + t] = sum / static_cast<double>(n - t);
  }
  map.profiles["probs_columns"] = columns;
  map.profiles["probs_diagonals"] = diagonals;
  const AttentionMeasures expected = softmax_measures(score_map({shown}))[0];
  const AttentionMeasures found = attention_measures(map)[0];
  EXPECT_NEAR(found.first_key.value, expected.first_key.value, 1e-12);
  EXPECT_NEAR(found.distance.value, expected.distance.value, 1e-12);
  EXPECT_TRUE(std::isnan(found.entropy.value));
  EXPECT_TRUE(std::isnan(softmax_measures(map)[0].first_key.value));
  map = score_map({shown});
  map.stage = Stage::raw;
  EXPECT_TRUE(std::isnan(softmax_measures(map)[0].first_key.value));
}

}  // namespace
}  // namespace poslens
