// Both engines against the simple layer, on the same inputs.

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "poslens/random.h"
#include "simulation/block.h"
#include "simulation/simple_layer.h"
#include "support/highway_targets.h"

namespace poslens {
namespace {

using test::simple_layer;
using test::SimpleLayer;

constexpr std::int64_t kSamples = 21;  // no lane count but 1 divides it

// Inputs with a shared component, of norm about `norm`; sample by sample.
std::vector<Matrix<double>> random_inputs(const ParameterFreeSpec& spec) {
  std::vector<Matrix<double>> samples;
  for (std::int64_t s = 0; s < kSamples; ++s) {
    RandomStream stream(11, static_cast<std::uint64_t>(s));
    Matrix<double> x(static_cast<std::size_t>(spec.n), static_cast<std::size_t>(spec.dim));
    std::vector<double> shared(x.columns());
    for (double& value : shared) value = stream.normal();
    for (std::size_t i = 0; i < x.rows(); ++i) {
      for (std::size_t k = 0; k < x.columns(); ++k) {
        x(i, k) = spec.input_norm * (stream.normal() + 0.5 * shared[k]) / std::sqrt(spec.dim);
      }
    }
    samples.push_back(x);
  }
  return samples;
}

// x without the rows' means.
Matrix<double> centred(Matrix<double> x) {
  for (std::size_t i = 0; i < x.rows(); ++i) {
    double mean = 0;
    for (const double value : x.row(i)) mean += value / static_cast<double>(x.columns());
    for (double& value : x.row(i)) value -= mean;
  }
  return x;
}

// The rows of x in an orthonormal basis in which row i has only its first i + 1 coordinates
// (Gram-Schmidt), and one more in front for each shared direction; for LayerNorm within the
// directions that have no mean. [n, dims]
Matrix<double> triangular_rows(Matrix<double> x, bool drop_mean, const Plan& plan) {
  const std::size_t n = x.rows(), d = x.columns(), dims = plan.dims;
  if (drop_mean) x = centred(x);
  std::vector<std::vector<double>> basis;
  for (std::size_t s = 1; s <= plan.shared; ++s) {  // any directions, without a mean
    const auto ones = static_cast<double>(s);
    basis.emplace_back(d, 0.0);
    std::fill_n(basis.back().begin(), s, 1 / std::sqrt(ones * (ones + 1)));
    basis.back()[s] = -ones / std::sqrt(ones * (ones + 1));
  }
  Matrix<double> coordinates(n, dims);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> rest(x.row(i).begin(), x.row(i).end());
    for (int pass = 0; pass < 2; ++pass) {  // twice is enough
      for (std::size_t b = 0; b < basis.size(); ++b) {
        double product = 0;
        for (std::size_t k = 0; k < d; ++k) product += rest[k] * basis[b][k];
        for (std::size_t k = 0; k < d; ++k) rest[k] -= product * basis[b][k];
        coordinates(i, b) += product;
      }
    }
    if (basis.size() == dims) continue;
    double length = 0;
    for (const double value : rest) length += value * value;
    length = std::sqrt(length);
    coordinates(i, basis.size()) = length;
    for (double& value : rest) value /= length;
    basis.push_back(rest);
  }
  return coordinates;
}

// "window:3,causal@1"
void set_masks(const std::string& text, ParameterFreeSpec& spec) {
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    const std::size_t at = item.find('@');
    const Mask mask = Mask::parse(item.substr(0, at));
    if (at == std::string::npos) {
      spec.mask = mask;
    } else {
      spec.layer_masks[std::stoi(item.substr(at + 1))] = mask;
    }
  }
}

struct Case {
  ParameterFreeSpec spec;
  Engine engine;
};

std::string name_of(const Case& test_case) {
  const ParameterFreeSpec& spec = test_case.spec;
  std::string name = to_string(test_case.engine) + "_n" + std::to_string(spec.n) + "_d" +
                     std::to_string(spec.dim) + "_" + to_string(spec.norm) + "_" +
                     spec.mask_text() + (spec.rope_theta ? "_rope" : "") +
                     (spec.rope_theta ? spec.rope_scaling.text() : "") +
                     (spec.alibi_slope ? "_alibi" : "") +
                     (spec.token_groups.empty() ? "" : "_alpha" + spec.alpha_text());
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

void PrintTo(const Case& test_case, std::ostream* stream) { *stream << name_of(test_case); }

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Engine engine : {Engine::triangular, Engine::dense}) {
    for (const Norm norm : {Norm::l2, Norm::layernorm, Norm::rmsnorm, Norm::none}) {
      for (const char* mask : {"causal", "window:1", "window:3", "window:7", "full", "prefix:5",
                               "strided:3", "window:3,causal@1"}) {
        for (const bool rope : {false, true}) {
          for (const auto& [n, dim] : {std::pair{23, 32}, std::pair{18, 6}, std::pair{3, 8}}) {
            ParameterFreeSpec spec;
            spec.n = n;
            spec.dim = dim;
            spec.layer_count = 3;
            spec.norm = norm;
            set_masks(mask, spec);
            spec.residual = mask[0] == 'f' ? 0 : dim == 6 ? 0.5 : 1;
            if (rope) spec.rope_theta = 100;
            if (norm == Norm::layernorm || norm == Norm::rmsnorm) {
              spec.score_scale = dim == 8 ? ScoreScale::inv_dim : ScoreScale::inv_sqrt_dim;
            }
            if (dim == 32) spec.input_norm = 2;
            if (n == 18 || norm == Norm::layernorm) spec.alpha = 0.2;  // a shared direction
            if (engine == Engine::triangular && (rope || !spec.is_causal())) continue;
            all.push_back({spec, engine});
          }
        }
      }
    }
  }
  ParameterFreeSpec odd;  // an odd width
  odd.n = 9;
  odd.dim = 5;
  odd.norm = Norm::layernorm;
  odd.score_scale = ScoreScale::inv_sqrt_dim;
  all.push_back({odd, Engine::triangular});
  all.push_back({odd, Engine::dense});
  odd.norm = Norm::l2;
  odd.score_scale = ScoreScale::none;
  all.push_back({odd, Engine::triangular});
  odd.n = 23;  // several shared directions
  odd.dim = 33;
  for (int group = 1; group <= 5; ++group) {
    odd.token_groups.push_back({0.5, {group, group + 6}});
    odd.alpha = group == 3 ? 0.2 : 0;  // the tokens of no group are one
    all.push_back({odd, Engine::triangular});
  }
  odd.n = 9;
  odd.dim = 5;
  odd.token_groups.clear();
  odd.rope_theta = 10;  // partial, and stretched so that scores exceed a query's own
  odd.rotary_dim = 2;
  odd.rope_scaling = RopeScaling::parse("yarn:8:4");
  all.push_back({odd, Engine::dense});
  odd.rotary_dim = 4;
  odd.rope_scaling = RopeScaling::parse("ntk:8");
  all.push_back({odd, Engine::dense});
  odd.rope_theta.reset();
  odd.rotary_dim = 0;
  odd.rope_scaling = {};
  odd.alibi_slope = 0.25;
  all.push_back({odd, Engine::triangular});
  set_masks("prefix:7", odd);  // the bias favours later keys
  all.push_back({odd, Engine::dense});
  set_masks("causal,full@0,strided:2@2", odd);  // layers that differ in whether they look ahead
  all.push_back({odd, Engine::dense});
  return all;
}

class Engines : public testing::TestWithParam<Case> {};

// Compares one kind of sums with the simple layer's.
template <typename Value>
void expect_sums(const Plan& plan, const std::vector<double>& sums, double tolerance,
                 const char* what, const Value& value) {
  for (std::size_t layer = 0; layer < plan.layers; ++layer) {
    for (std::size_t i = 0; i < plan.n; ++i) {
      for (std::size_t j = 0; j < plan.n; ++j) {
        if (!plan.options.spec.mask_of(static_cast<int>(layer))
                 .visible(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j))) {
          continue;
        }
        const double found = sums[layer * plan.score_count + plan.score_index(i, j)];
        ASSERT_NEAR(found / kSamples, value(layer, i, j) / kSamples, tolerance)
            << what << ", layer " << layer << ", query " << i << ", key " << j;
      }
    }
  }
}

TEST_P(Engines, EqualTheSimpleLayer) {
  SimulationOptions options;
  options.spec = GetParam().spec;
  options.engine = GetParam().engine;
  options.variance = options.probs = options.recency = options.monotonicity = true;
  options.hidden_geometry = true;
  const Plan plan(options);
  ASSERT_EQ(plan.triangular, GetParam().engine == Engine::triangular);
  const ParameterFreeSpec& spec = options.spec;

  std::vector<float> inputs;
  std::vector<Matrix<double>> scores(plan.layers, Matrix<double>(plan.n, plan.n));
  std::vector<Matrix<double>> squares = scores, probs = scores;
  std::vector<std::int64_t> recency(plan.layers), unclear = recency;  // within rounding of equal
  std::vector<test::SimpleMonotonicity> monotone(plan.layers);
  std::vector<double> norms((plan.layers + 1) * plan.n);
  std::vector<double> cosines((plan.layers + 1) * triangle_size(plan.n));
  const auto add_geometry = [&](std::size_t layer, const Matrix<double>& x) {
    // What the triangular engine is given for LayerNorm has no mean.
    const bool mean_lost = plan.triangular && spec.norm == Norm::layernorm;
    const Matrix<double> seen = mean_lost ? centred(x) : x;
    for (std::size_t i = 0; i < plan.n; ++i) {
      norms[layer * plan.n + i] += test::simple_length(seen, i);
      for (std::size_t j = 0; j <= i; ++j) {
        cosines[layer * triangle_size(plan.n) + triangle_size(i) + j] +=
            test::simple_cosine(seen, i, j);
      }
    }
  };
  double largest = 1;
  for (Matrix<double> x : random_inputs(spec)) {
    const Matrix<double> rows =
        plan.triangular ? triangular_rows(x, spec.norm == Norm::layernorm, plan) : x;
    inputs.insert(inputs.end(), rows.values().begin(), rows.values().end());
    for (std::size_t layer = 0; layer < plan.layers; ++layer) {
      add_geometry(layer, x);
      const SimpleLayer simple = simple_layer(spec, static_cast<int>(layer), x);
      const Mask& mask = spec.mask_of(static_cast<int>(layer));
      const test::SimpleMonotonicity rows_of_sample =
          test::simple_monotonicity(simple.scores, mask, 1e-5);
      monotone[layer].rows += rows_of_sample.rows;
      monotone[layer].unclear += rows_of_sample.unclear;
      for (std::size_t i = 0; i < plan.n; ++i) {
        const auto query = static_cast<std::int64_t>(i);
        for (std::size_t j = 0; j < plan.n; ++j) {
          const double score = simple.scores(i, j);
          largest = std::max(largest, std::abs(score));
          scores[layer](i, j) += score;
          squares[layer](i, j) += score * score;
          probs[layer](i, j) += simple.probs(i, j);
          if (j >= i || !mask.visible(query, static_cast<std::int64_t>(j))) continue;
          for (std::size_t k = 0; k < j; ++k) {
            if (!mask.visible(query, static_cast<std::int64_t>(k))) continue;
            recency[layer] += score > simple.scores(i, k);
            unclear[layer] += std::abs(score - simple.scores(i, k)) < 1e-5 * std::abs(score);
          }
        }
      }
    }
    add_geometry(plan.layers, x);
  }
  BlockRunner runner(plan);
  const BlockSums& sums = runner.run({0, 1, kSamples, inputs.data()});
  // Without a norm the scores grow from layer to layer, and their rounding with them.
  const double tolerance = 1e-5 * largest;
  expect_sums(plan, sums.scores, tolerance, "score",
              [&](auto layer, auto i, auto j) { return scores[layer](i, j); });
  expect_sums(plan, sums.squares, 2 * tolerance * largest, "square",
              [&](auto layer, auto i, auto j) { return squares[layer](i, j); });
  expect_sums(plan, sums.probs, tolerance, "probability",
              [&](auto layer, auto i, auto j) { return probs[layer](i, j); });
  for (std::size_t i = 0; i < norms.size(); ++i) {
    EXPECT_NEAR(sums.hidden_norms[i], norms[i], 2e-5 * norms[i]) << "norm " << i;
  }
  for (std::size_t i = 0; i < cosines.size(); ++i) {
    EXPECT_NEAR(sums.hidden_cosines[i] / kSamples, cosines[i] / kSamples, 1e-5) << "cosine " << i;
  }
  for (std::size_t layer = 0; layer < plan.layers; ++layer) {
    EXPECT_LE(std::abs(sums.recency[layer] - recency[layer]), unclear[layer]);
    EXPECT_LE(std::abs(sums.monotone[layer] - monotone[layer].rows), monotone[layer].unclear);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Engines, testing::ValuesIn(cases()),
                         [](const auto& test) { return name_of(test.param); });

// The same on every instruction set, with sums kept per lane or over all lanes.
TEST(Engines, TargetsAndSumsAgree) {
  for (const bool rope : {false, true}) {
    SimulationOptions options;
    options.spec.n = 23;
    options.spec.alpha = 0.3;
    options.spec.norm = Norm::layernorm;
    options.spec.score_scale = ScoreScale::inv_sqrt_dim;
    options.variance = options.probs = options.hidden_geometry = true;
    if (rope) options.spec.rope_theta = 1e4;
    Plan plan(options);
    const BlockSamples samples{5, 3, 100};
    BlockRunner runner(plan);
    const BlockSums best = runner.run(samples);
    for (const bool lane_sums : {true, false}) {
      plan.lane_sums = lane_sums;
      test::for_each_target([&](std::int64_t) {
        BlockRunner again(plan);
        const BlockSums& found = again.run(samples);
        for (std::size_t layer = 0; layer < plan.layers; ++layer) {
          for (std::size_t i = 0; i < plan.n; ++i) {
            for (std::size_t j = 0; j <= i; ++j) {
              const std::size_t at = layer * plan.score_count + plan.score_index(i, j);
              ASSERT_NEAR(found.scores[at] / 100, best.scores[at] / 100, 1e-5);
              ASSERT_NEAR(found.probs[at] / 100, best.probs[at] / 100, 1e-5);
              ASSERT_NEAR(found.squares[at] / 100, best.squares[at] / 100, 1e-4);
            }
          }
        }
        for (std::size_t i = 0; i < best.hidden_norms.size(); ++i) {
          ASSERT_NEAR(found.hidden_norms[i] / 100, best.hidden_norms[i] / 100, 1e-4);
        }
        for (std::size_t i = 0; i < best.hidden_cosines.size(); ++i) {
          ASSERT_NEAR(found.hidden_cosines[i] / 100, best.hidden_cosines[i] / 100, 1e-5);
        }
      });
    }
  }
}

}  // namespace
}  // namespace poslens
