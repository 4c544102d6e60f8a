// metrics and diff.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "poslens/measures.h"

namespace poslens {
namespace {

using testing::HasSubstr;

class Metrics : public ProgramTest {
 protected:
  Metrics() {
    const std::string options = "theory --n 12 --layers 2 --out ";
    EXPECT_EQ(run_program(words(options + path("causal.npz").string())).code, 0);
    EXPECT_EQ(run_program(words(options + path("full.npz").string() + " --mask full")).code, 0);
  }
};

TEST_F(Metrics, JsonHasEveryMeasureOfEveryMap) {
  const std::string causal = path("causal.npz").string();
  const Outcome outcome = run_program({"metrics", causal, path("full.npz").string(), "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(json.size(), 2);
  EXPECT_EQ(json[0].at("map"), causal);
  EXPECT_EQ(json[0].at("groups"), 0);
  const std::vector<LayerMeasures> measures = measure(load_score_map(causal));
  ASSERT_EQ(json[0].at("layers").size(), 2);
  const auto& layer = json[0].at("layers")[1];
  EXPECT_EQ(layer.at("layer"), 1);
  for (const auto& [name, estimate] : named_estimates(measures[1])) {
    if (std::isnan(estimate->value)) {
      EXPECT_TRUE(layer.at(name).at("value").is_null()) << name;
    } else {
      EXPECT_EQ(layer.at(name).at("value"), estimate->value) << name;
    }
    EXPECT_TRUE(layer.at(name).at("standard_error").is_null()) << name;
  }
  // All scores of orthonormal inputs are alike in the first layer: no share of nothing.
  EXPECT_TRUE(json[0].at("layers")[0].at("nonrelative_share").at("value").is_null());
}

TEST_F(Metrics, TableSaysThatThereAreNoGroups) {
  const Outcome outcome = run_program({"metrics", path("causal.npz").string()});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("theory map, stage scaled, n 12, no groups of samples"));
  EXPECT_THAT(outcome.out, HasSubstr("layer  total"));
}

TEST_F(Metrics, GroupsGiveIntervals) {
  const std::string groups = path("groups.npz").string();
  EXPECT_EQ(run_program(words("simulate --n 12 --dim 16 --layers 2 --samples 64 --groups 8 --out " +
                              groups))
                .code,
            0);
  const Outcome outcome = run_program({"metrics", groups, "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto layer = nlohmann::json::parse(outcome.out)[0].at("layers")[1];
  for (const char* name : {"total", "nearness", "recency_of_mean", "softmax_entropy",
                           "softmax_residual_rollout_distance", "mean_field_unexplained"}) {
    const auto& measure = layer.at(name);
    const double value = measure.at("value");
    const double reach = 2.3646 * measure.at("standard_error").get<double>();  // t, 7 degrees
    EXPECT_GT(reach, 0) << name;
    EXPECT_NEAR(measure.at("interval_95")[0], value - reach, 1e-4 * reach) << name;
    EXPECT_NEAR(measure.at("interval_95")[1], value + reach, 1e-4 * reach) << name;
  }
  EXPECT_GT(layer.at("by_position").at("softmax").at("distance").at("standard_error")[5], 0);
}

TEST_F(Metrics, TablesBySubject) {
  const std::string causal = path("causal.npz").string();
  const Outcome two = run_program({"metrics", causal, "--measures", "order,rollout"});
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_THAT(two.out, HasSubstr("order\n    layer  recency                rising steps"));
  EXPECT_THAT(two.out, HasSubstr("rollout\n    layer  key 0, softmax"));
  EXPECT_THAT(two.out, testing::Not(HasSubstr("nonrelative")));
  // Scores of the mean field rise with the key in every row of the second layer (docs/theory.md).
  EXPECT_THAT(two.out, HasSubstr("        1  1                      1                      1\n"));
  const Outcome all = run_program({"metrics", causal, "--all"});
  EXPECT_EQ(all.code, 0) << all.err;
  for (const char* subject : {"decomposition\n", "order\n", "first-key\n", "attention\n"}) {
    EXPECT_THAT(all.out, HasSubstr(subject));
  }
  EXPECT_THAT(all.out, testing::Not(HasSubstr("sink heads")));  // there are no heads
  expect_error_with(run_program({"metrics", causal, "--measures", "colour"}), 2, "colour");
  expect_error_with(run_program({"metrics", causal, "--measures", "order", "--all"}), 2,
                    "--measures");
  expect_error(run_program({"metrics", causal, "--heads"}), 1,
               causal + ": expected scores_heads (`poslens probe --per-head`), found none");
}

TEST_F(Metrics, HeadsAndPositions) {
  ScoreMap map = load_score_map(path("causal.npz"));
  map.heads = 2;
  const std::size_t size = map.scores.size() / 2;
  for (const float* layer : {map.scores.data(), map.scores.data() + size}) {
    for (int head = 0; head < 2; ++head) {
      map.scores_heads.insert(map.scores_heads.end(), layer, layer + size);
    }
  }
  // The second head of the second layer is a sink.
  for (std::size_t i = 0; i < 12; ++i) map.scores_heads[3 * size + i * 12] = 9;
  save(map, path("heads.npz"));
  const std::vector<std::string> arguments = {"metrics", path("heads.npz").string()};
  Outcome outcome = run_program({arguments[0], arguments[1], "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto layer = nlohmann::json::parse(outcome.out)[0].at("layers")[1];
  EXPECT_EQ(layer.at("sink_heads").at("value"), 0.5);
  ASSERT_EQ(layer.at("heads").size(), 2);
  EXPECT_EQ(layer.at("heads")[1].at("head"), 1);
  EXPECT_GT(layer.at("heads")[1].at("softmax_first_key").at("value"), 0.99);
  EXPECT_EQ(layer.at("heads")[0].at("total"), layer.at("total"));
  const auto& entropy = layer.at("by_position").at("softmax").at("entropy");
  ASSERT_EQ(entropy.at("value").size(), 12);
  EXPECT_EQ(entropy.at("value")[0], 0);
  EXPECT_TRUE(entropy.at("standard_error")[3].is_null());
  EXPECT_FALSE(layer.at("by_position").contains("attention"));  // no probabilities were kept
  outcome = run_program({arguments[0], arguments[1], "--heads", "--measures", "first-key"});
  EXPECT_THAT(outcome.out, HasSubstr("\n      1.1  "));
  EXPECT_THAT(outcome.out, HasSubstr("sink heads"));
}

TEST_F(Metrics, WhatCannotBeMeasuredIsNamed) {
  EXPECT_EQ(run_program(words("theory --n 4 --out " + path("four.npz").string())).code, 0);
  expect_error(run_program({"metrics", path("four.npz").string()}), 1,
               path("four.npz").string() + ": layer 0: expected at least 5 positions, found 4");
  expect_error_with(run_program({"metrics", path("none.npz").string()}), 1, "none.npz");
  expect_error(run_program({"metrics"}), 2, "map is required");
}

TEST_F(Metrics, DiffSubtractsAndSaysWhat) {
  const std::string out = path("difference.npz").string();
  const std::string causal = path("causal.npz").string();
  const std::string full = path("full.npz").string();
  const std::vector<std::string> arguments = {"diff", causal, full, "--out", out};
  const Outcome outcome = run_program(arguments);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const ScoreMap a = load_score_map(causal);
  const ScoreMap b = load_score_map(full);
  const ScoreMap map = load_score_map(out);
  EXPECT_EQ(map.layer(1)(7, 3), a.layer(1)(7, 3) - b.layer(1)(7, 3));
  EXPECT_NE(map.layer(1)(7, 3), 0);
  EXPECT_TRUE(std::isnan(map.layer(1)(3, 7)));
  using Option = std::pair<std::string, std::string>;
  EXPECT_EQ(map.provenance.options, (std::vector<Option>{{"a", causal}, {"b", full}}));
  EXPECT_THAT(map.provenance.command_line, HasSubstr("poslens diff "));
  expect_error(run_program(arguments), 1, out + ": exists already; --force replaces it");
}

TEST_F(Metrics, DiffRefusesMapsThatDoNotCompare) {
  EXPECT_EQ(run_program(words("theory --n 13 --layers 2 --out " + path("n13.npz").string())).code,
            0);
  expect_error_with(run_program({"diff", path("causal.npz").string(), path("n13.npz").string(),
                                 "--out", path("difference.npz").string()}),
                    1, "n13.npz: numbers of positions differ: 12 and 13");
  EXPECT_FALSE(std::filesystem::exists(path("difference.npz")));
}

}  // namespace
}  // namespace poslens
