// Position decoding against least squares on the reference decoder's states, and on models of which
// one knows what they tell.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <tuple>

#include "model/decoding_sums.h"
#include "model/golden_fixture.h"
#include "model/reference_decoder.h"
#include "model/run_plan.h"
#include "model/tiny_checkpoint.h"
#include "poslens/error.h"
#include "poslens/intervention.h"
#include "poslens/threads.h"

namespace poslens {
namespace {

using Rows = std::vector<std::vector<double>>;

TokenBatch random_batch(std::int64_t sequences, std::int64_t length, std::uint32_t vocabulary) {
  RandomStream random(5, 0);
  TokenBatch batch{length, {}};
  for (std::int64_t i = 0; i < sequences * length; ++i) {
    batch.ids.push_back(static_cast<std::int32_t>(random.below(vocabulary)));
  }
  return batch;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Means and deviations of columns.
std::pair<std::vector<double>, std::vector<double>> scales(const Rows& rows) {
  std::vector<double> mean(rows[0].size()), deviation(rows[0].size());
  for (std::size_t a = 0; a < mean.size(); ++a) {
    for (const auto& row : rows) mean[a] += row[a] / static_cast<double>(rows.size());
    for (const auto& row : rows) deviation[a] += (row[a] - mean[a]) * (row[a] - mean[a]);
    deviation[a] = std::sqrt(deviation[a] / static_cast<double>(rows.size()));
  }
  return {mean, deviation};
}

// min |targets - rows w|^2 + weight |w|^2 by conjugate gradients on the rows themselves (CGLS), no
// normal equations formed.
std::vector<double> ridge(const Rows& rows, const std::vector<double>& targets, double weight) {
  std::vector<double> w(rows[0].size(), 0), residual = targets, direction;
  const auto gradient = [&] {
    std::vector<double> g(w.size());
    for (std::size_t a = 0; a < w.size(); ++a) g[a] = -weight * w[a];
    for (std::size_t k = 0; k < rows.size(); ++k) {
      for (std::size_t a = 0; a < w.size(); ++a) g[a] += rows[k][a] * residual[k];
    }
    return g;
  };
  std::vector<double> g = gradient();
  direction = g;
  double size = dot(g, g);
  const double start = size;
  for (int step = 0; step < 500 && size > 1e-24 * start; ++step) {
    std::vector<double> image(rows.size());
    for (std::size_t k = 0; k < rows.size(); ++k) image[k] = dot(rows[k], direction);
    const double length = size / (dot(image, image) + weight * dot(direction, direction));
    for (std::size_t a = 0; a < w.size(); ++a) w[a] += length * direction[a];
    for (std::size_t k = 0; k < rows.size(); ++k) residual[k] -= length * image[k];
    g = gradient();
    const double before = size;
    size = dot(g, g);
    for (std::size_t a = 0; a < w.size(); ++a) direction[a] = g[a] + size / before * direction[a];
  }
  return w;
}

struct Errors {
  double squares = 0;
  double absolute = 0;
};

// Mean errors, in positions, on some rows of the fit to others.
Errors errors_of(const Rows& by, const std::vector<double>& targets, double penalty, const Rows& on,
                 const std::vector<double>& wanted) {
  const auto scale = scales(by);
  const auto standardised = [&](Rows rows) {
    for (auto& row : rows) {
      for (std::size_t a = 0; a < row.size(); ++a)
        row[a] = (row[a] - scale.first[a]) / scale.second[a];
    }
    return rows;
  };
  const double middle =
      std::accumulate(targets.begin(), targets.end(), 0.0) / static_cast<double>(targets.size());
  std::vector<double> centred = targets;
  for (double& target : centred) target -= middle;
  const std::vector<double> weights =
      ridge(standardised(by), centred, penalty * static_cast<double>(by.size()));
  Errors errors;
  const Rows tested = standardised(on);
  for (std::size_t k = 0; k < on.size(); ++k) {
    const double error = middle + dot(tested[k], weights) - wanted[k];
    errors.squares += error * error / static_cast<double>(on.size());
    errors.absolute += std::abs(error) / static_cast<double>(on.size());
  }
  return errors;
}

// The states of some sequences at a plane but for the first token's, and their positions.
struct States {
  Rows rows;
  std::vector<double> positions;
};
States states_of(const ReferenceResult& reference, std::size_t plane,
                 const std::vector<std::size_t>& sequences, const std::vector<float>& projection) {
  States states;
  for (const std::size_t s : sequences) {
    const auto& stream = reference.hidden[s][plane];
    for (std::size_t p = 1; p < stream.size(); ++p) {
      states.positions.push_back(static_cast<double>(p));
      if (projection.empty()) {
        states.rows.push_back(stream[p]);
        continue;
      }
      std::vector<double> row;
      for (auto signs = projection.begin(); signs != projection.end();
           signs += std::ssize(stream[p])) {
        row.push_back(std::inner_product(stream[p].begin(), stream[p].end(), signs, 0.0));
      }
      states.rows.push_back(row);
    }
  }
  return states;
}

class Decoding : public testing::Test {
 protected:
  // Ten sequences: 0 to 4 fit, in halves 0, 2, 4 and 1, 3; 5 to 9 are five groups to test.
  const TinyCheckpoint checkpoint_;
  const ModelSpec spec_ = read_model_spec(checkpoint_);
  const TokenBatch batch_ = random_batch(10, 24, 37);

  const ReferenceResult reference_ = run_reference(checkpoint_, spec_, batch_);

  void expect_as_reference(const DecoderOptions& options, const std::vector<float>& projection) {
    const ScoreMap map = run_decoder(checkpoint_, spec_, batch_, options);
    ASSERT_EQ(map.decoding_r2.size(), 3u);
    ASSERT_EQ(map.decoding_error.size(), 3u);
    ASSERT_EQ(map.decoding_r2_leave_one_out.size(), 5 * 3u);
    ASSERT_EQ(map.decoding_error_leave_one_out.size(), 5 * 3u);
    constexpr double kVariance = (23 * 23 - 1) / 12.0;
    for (std::size_t plane = 0; plane < 3; ++plane) {
      const States even = states_of(reference_, plane, {0, 2, 4}, projection);
      const States odd = states_of(reference_, plane, {1, 3}, projection);
      const States all = states_of(reference_, plane, {0, 2, 4, 1, 3}, projection);
      double least = INFINITY, penalty = 0;
      for (const double tried : {1e-4, 1e-2, 1.0, 1e2}) {
        const double error =
            errors_of(even.rows, even.positions, tried, odd.rows, odd.positions).squares;
        if (error < least) std::tie(least, penalty) = std::pair(error, tried);
      }
      const auto expect = [&](const std::vector<std::size_t>& tested, double r2, double error) {
        const States on = states_of(reference_, plane, tested, projection);
        const Errors found = errors_of(all.rows, all.positions, penalty, on.rows, on.positions);
        EXPECT_NEAR(r2, 1 - found.squares / kVariance, 1e-4) << plane;
        EXPECT_NEAR(error, found.absolute, 1e-3) << plane;
      };
      expect({5, 6, 7, 8, 9}, map.decoding_r2[plane], map.decoding_error[plane]);
      expect({5, 6, 7, 9}, map.decoding_r2_leave_one_out[3 * 3 + plane],
             map.decoding_error_leave_one_out[3 * 3 + plane]);
    }
  }
};

TEST_F(Decoding, IsTheRidgeFitToTheReferencesStates) {
  DecoderOptions options;
  options.decode = true;
  expect_as_reference(options, {});
  const int before = thread_count();
  set_thread_count(3);
  expect_as_reference(options, {});
  set_thread_count(before);
  // One sequence at a time.
  for (options.memory_bytes = 1 << 20;; options.memory_bytes += 1 << 12) {
    try {
      EXPECT_LT(plan_run(spec_, batch_, options, before).chunk_sequences, 3);
      break;
    } catch (const UsageError&) {
    }
  }
  expect_as_reference(options, {});
}

TEST_F(Decoding, OfWideStatesIsThatOfTheirProjections) {
  DecoderOptions options;
  options.decode = true;
  options.decode_width = 7;
  const std::vector<float> projection = decoding_projection(7, 24);
  ASSERT_EQ(projection.size(), 7 * 24u);
  expect_as_reference(options, projection);
}

// Learned positions, fewer than dimensions, are there before the first layer; without them and
// without a mask nothing tells positions, so guesses stay at the middle and miss by a quarter of
// the positions.
TEST_F(Decoding, FindsLearnedPositionsAndNothingWithoutThem) {
  const GoldenFixture golden("gpt2_plain");
  const TokenBatch batch = random_batch(100, 17, 2);
  DecoderOptions options;
  options.decode = true;
  options.loss = false;
  const ScoreMap learned = run_decoder(golden.checkpoint(), golden.spec(), batch, options);
  const ScoreMap none =
      run_decoder(golden.checkpoint(), golden.changed("position=none mask=full"), batch, options);
  EXPECT_GT(learned.decoding_r2[0], 0.99);
  EXPECT_LT(learned.decoding_error[0], 0.4);
  for (std::size_t plane = 0; plane < 4; ++plane) {
    EXPECT_NEAR(none.decoding_r2[plane], 0, 0.01) << plane;
    EXPECT_NEAR(none.decoding_error[plane], 4, 0.04) << plane;
  }
}

// RoPE turns queries and keys alone: what enters the first layer knows no position. What leaves it
// does, because under the causal mask later tokens average more.
TEST_F(Decoding, FindsTheMask) {
  const TokenBatch batch = random_batch(200, 24, 37);
  DecoderOptions options;
  options.decode = true;
  options.loss = false;
  const auto r2 = [&](const std::vector<Intervention>& changes) {
    return run_decoder(checkpoint_, poslens::apply(spec_, changes), batch, options).decoding_r2;
  };
  const std::vector<double> causal = r2({parse_intervention("rope=none")});
  const std::vector<double> full =
      r2({parse_intervention("rope=none"), parse_intervention("mask=full")});
  EXPECT_NEAR(causal[0], 0, 0.005);
  EXPECT_GT(causal[1], 0.01);
  EXPECT_GT(causal[2], 0.01);
  for (const double value : full) EXPECT_NEAR(value, 0, 0.005);
}

TEST_F(Decoding, IsOfTheLayersThatAreKept) {
  DecoderOptions options;
  options.decode = true;
  const std::vector<double> all = run_decoder(checkpoint_, spec_, batch_, options).decoding_r2;
  options.layers = {1};
  const ScoreMap one = run_decoder(checkpoint_, spec_, batch_, options);
  EXPECT_THAT(one.decoding_r2, testing::ElementsAre(all[1], all[2]));
  options.decode = false;
  EXPECT_TRUE(run_decoder(checkpoint_, spec_, batch_, options).decoding_r2.empty());
}

TEST_F(Decoding, NeedsEnoughSequencesOfOneRun) {
  const auto message = [&](const TokenBatch& batch, std::optional<WorkRange> part = {}) {
    DecoderOptions options;
    options.decode = true;
    options.part = part;
    try {
      run_decoder(checkpoint_, spec_, batch, options);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message(random_batch(4, 3, 37)), "accepted");
  EXPECT_EQ(message(random_batch(3, 24, 37)),
            "--decode: expected at least 4 sequences, two to fit and two to test, found 3");
  EXPECT_EQ(message(random_batch(4, 2, 37)),
            "--decode: expected sequences of at least 3 tokens, of which the first is left out, "
            "found 2");
  EXPECT_EQ(message(batch_, WorkRange{0, 5}),
            "--decode: expected no --shard: a fit to some of the sequences is no part of one to "
            "all");
}

}  // namespace
}  // namespace poslens
