// Observables of single samples against numpy, which draws the same inputs by the same counters
// (tools/golden/simulation_observables.py).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "poslens/simulation.h"
#include "support/highway_targets.h"

namespace poslens {
namespace {

using Json = nlohmann::json;

SimulationOptions options_of(const Json& json) {
  SimulationOptions options;
  ParameterFreeSpec& spec = options.spec;
  spec.n = json.at("n").get<std::int64_t>();
  spec.dim = json.at("dim").get<int>();
  spec.layer_count = json.at("layers").get<int>();
  spec.alpha = json.at("alpha").get<double>();
  spec.norm = parse_norm(json.at("norm").get<std::string>());
  if (spec.norm == Norm::layernorm) spec.score_scale = ScoreScale::inv_sqrt_dim;
  spec.residual = json.at("residual").get<double>();
  if (!json.at("rope").is_null()) spec.rope_theta = json.at("rope").get<double>();
  spec.mask = Mask::parse(json.at("mask").get<std::string>());
  options.seed = json.at("seed").get<std::uint64_t>();
  options.samples = json.at("samples").get<std::int64_t>();
  options.readout = options.samples / 2;
  options.readout_keys = json.at("readout_keys").get<std::int64_t>();
  options.engine = Engine::dense;
  options.monotonicity = options.hidden_geometry = true;
  return options;
}

template <typename T>
void expect_near(const std::vector<T>& found, const Json& expected, double tolerance,
                 const char* what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t at = 0; at < found.size(); ++at) {
    if (std::isnan(found[at])) continue;  // masked
    EXPECT_NEAR(found[at], expected[at].get<double>(), tolerance) << what << ' ' << at;
  }
}

TEST(Golden, SingleSamplesAreAsNumpyHasThem) {
  std::ifstream file(std::string(POSLENS_TEST_DATA) + "/observables.json");
  const Json cases = Json::parse(file);
  ASSERT_EQ(cases.size(), 5u);
  test::for_each_target([&](std::int64_t) {
    for (const Json& json : cases) {
      SCOPED_TRACE("case " + std::to_string(&json - &cases[0]));
      const ScoreMap map = simulate(options_of(json));
      expect_near(map.scores, json.at("scores"), 2e-5, "score");
      expect_near(map.monotonicity, json.at("monotonicity"), 1e-8, "monotonicity");
      expect_near(map.hidden_norm, json.at("hidden_norm"), 2e-5, "norm");
      expect_near(map.hidden_cosine, json.at("hidden_cosine"), 2e-5, "cosine");
      expect_near(map.readout_r2, json.at("readout_r2"), 1e-4, "R^2");
      expect_near(map.readout_error, json.at("readout_error"), 1e-4, "error");
    }
  });
}

}  // namespace
}  // namespace poslens
