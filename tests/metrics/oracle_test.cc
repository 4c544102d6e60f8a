// Against dense least squares in numpy (tools/golden/metrics_oracle.py).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "metrics/support.h"
#include "poslens/measures.h"
#include "poslens/theory.h"

namespace poslens {
namespace {

using Json = nlohmann::json;

std::vector<Matrix<float>> read_groups(const Json& json) {
  const auto n = json.at("n").get<std::size_t>();
  std::vector<Matrix<float>> groups;
  for (const Json& values : json.at("groups")) {
    groups.emplace_back(n, n);
    for (std::size_t k = 0; k < n * n; ++k) {
      groups.back().values()[k] =
          values[k].is_null() ? std::numeric_limits<float>::quiet_NaN() : values[k].get<float>();
    }
  }
  return groups;
}

void expect_estimate(const Estimate& found, const Json& expected, double tolerance,
                     const std::string& name) {
  EXPECT_NEAR(found.value, expected[0].get<double>(), tolerance) << name;
  if (expected[1].is_null()) {
    EXPECT_TRUE(std::isnan(found.standard_error)) << name;
  } else {
    EXPECT_NEAR(found.standard_error, expected[1].get<double>(), tolerance) << name;
  }
}

class Oracle : public testing::Test {
 protected:
  static Json cases() {
    std::ifstream file(std::string(POSLENS_TEST_DATA) + "/oracle.json");
    return Json::parse(file);
  }
};

TEST_F(Oracle, EveryMeasure) {
  int count = 0;
  for (const Json& json : cases()) {
    ++count;
    SCOPED_TRACE("n " + json.at("n").dump() + " window " + json.at("window").dump() +
                 " first key " + json.at("first_key").dump());
    const std::vector<Matrix<float>> groups = read_groups(json);
    const Support support{json.at("first_key").get<std::int64_t>()};
    LayerMeasures measures;
    measures.all_keys = decompose(views(groups), support);
    measures.nearness = nearness_slope(views(groups), support);
    measures.order = key_order(views(groups), support);
    measures.first_key_excess = first_key_excess(views(groups), support);
    const Json& expected = json.at("expected");
    const double scale = expected.at("total")[0].get<double>();
    int compared = 0;
    for (const auto& [name, estimate] : named_estimates(measures)) {
      if (!expected.contains(name)) continue;
      const bool is_square = expected.contains(name + "_share") || name == "total";
      expect_estimate(*estimate, expected.at(name), 1e-11 * (is_square ? scale : 1), name);
      ++compared;
    }
    EXPECT_EQ(compared, 15);
  }
  EXPECT_EQ(count, 11);
}

// Mean-field maps of the second layer: closed form and shares from numpy, the map from src/theory.
TEST_F(Oracle, SharesOfClosedFormMaps) {
  std::ifstream file(std::string(POSLENS_TEST_DATA) + "/closed_form.json");
  const Json list = Json::parse(file);
  ASSERT_EQ(list.size(), 12);
  for (const Json& expected : list) {
    ParameterFreeSpec spec;
    spec.n = expected.at("n").get<std::int64_t>();
    spec.layer_count = 2;
    spec.alpha = expected.at("alpha").get<double>();
    spec.residual = expected.at("residual").get<bool>() ? 1 : 0;
    SCOPED_TRACE(expected.dump());
    const LayerMeasures layer = measure(mean_field_map(spec))[1];
    const double scale = expected.at("total").get<double>();
    int compared = 0;
    for (const auto& [name, estimate] : named_estimates(layer)) {
      if (!expected.contains(name)) continue;
      // Scores are kept in single precision: 6e-8 of scores up to 1, against their variation.
      const double rounding = 3e-7 / std::sqrt(scale);
      const bool is_square = expected.contains(name + "_share") || name.starts_with("total");
      EXPECT_NEAR(estimate->value, expected.at(name).get<double>(),
                  rounding * (is_square ? scale : 1))
          << name;
      ++compared;
    }
    EXPECT_EQ(compared, 30);
  }
}

TEST_F(Oracle, NonrelativeResidual) {
  for (const Json& json : cases()) {
    const std::vector<Matrix<float>> groups = read_groups(json);
    const auto n = json.at("n").get<std::size_t>();
    const auto first_key = json.at("first_key").get<std::size_t>();
    // The residual is linear: the mean map's is the mean of the groups'.
    Matrix<double> mean(n, n);
    for (const Matrix<float>& group : groups) {
      const Matrix<float> residual =
          nonrelative_residual(group.view(), {static_cast<std::int64_t>(first_key)});
      for (std::size_t k = 0; k < n * n; ++k) {
        mean.values()[k] +=
            static_cast<double>(residual.values()[k]) / static_cast<double>(groups.size());
      }
    }
    const Json& expected = json.at("expected").at("nonrelative_residual");
    const auto window = json.at("window").get<std::size_t>();
    std::size_t pair = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        if (j >= first_key && j < i && i - j < window) {
          EXPECT_NEAR(mean(i, j), expected.at(pair++).get<double>(), 1e-6);
        } else {
          EXPECT_TRUE(std::isnan(mean(i, j))) << i << ' ' << j;
        }
      }
    }
    EXPECT_EQ(pair, expected.size());
  }
}

}  // namespace
}  // namespace poslens
