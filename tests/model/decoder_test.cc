// The decoder against the readable one in double precision, and what must not change results.

#include "poslens/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "model/reference_decoder.h"
#include "model/run_plan.h"
#include "model/tiny_checkpoint.h"
#include "poslens/error.h"
#include "poslens/intervention.h"
#include "poslens/threads.h"

namespace poslens {
namespace {

using testing::HasSubstr;

TokenBatch random_batch(std::int64_t sequences, std::int64_t length, std::uint64_t seed = 1) {
  RandomStream random(seed, 0);
  TokenBatch batch{length, {}};
  for (std::int64_t i = 0; i < sequences * length; ++i) {
    batch.ids.push_back(static_cast<std::int32_t>(random.below(37)));
  }
  return batch;
}

// Rows first.. of a batch.
TokenBatch sequences_of(const TokenBatch& batch, const std::vector<std::int64_t>& which) {
  TokenBatch result{batch.length, {}};
  for (const std::int64_t s : which) {
    const auto first = batch.ids.begin() + s * batch.length;
    result.ids.insert(result.ids.end(), first, first + batch.length);
  }
  return result;
}

// Largest absolute difference; NaN must meet NaN.
double difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    EXPECT_EQ(std::isnan(a[i]), std::isnan(b[i])) << "element " << i;
    if (!std::isnan(a[i])) largest = std::max(largest, std::abs(double{a[i]} - b[i]));
  }
  return largest;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](float x, float y) {
           return x == y || (std::isnan(x) && std::isnan(y));
         });
}

// Restores the number of threads.
struct Threads {
  explicit Threads(int count) { set_thread_count(count); }
  ~Threads() { set_thread_count(before); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  int before = thread_count();
};

// The reference's mean of one thing for one layer: over sequences first, first + step, ... and
// heads low..high-1; NaN where the mask hides.
std::vector<float> mean_of(const std::vector<std::vector<std::vector<double>>>& layer,
                           const Mask& mask, std::int64_t n, std::size_t first, std::size_t step,
                           std::size_t low, std::size_t high) {
  std::vector<float> mean(static_cast<std::size_t>(n * n));
  for (std::size_t pair = 0; pair < mean.size(); ++pair) {
    double sum = 0;
    double count = 0;
    for (std::size_t s = first; s < layer.size(); s += step) {
      for (std::size_t h = low; h < high; ++h, ++count) sum += layer[s][h][pair];
    }
    const auto at = static_cast<std::int64_t>(pair);
    mean[pair] = mask.visible(at / n, at % n) ? static_cast<float>(sum / count)
                                              : std::numeric_limits<float>::quiet_NaN();
  }
  return mean;
}

std::vector<float> part(const std::vector<float>& values, std::size_t index, std::size_t size) {
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(index * size);
  return {first, first + static_cast<std::ptrdiff_t>(size)};
}

struct Shape {
  const char* name;
  TinyCheckpoint::Sizes sizes;
  RotaryPairs pairs = RotaryPairs::interleaved;
  int rotary_dim = 8;
};

class AgainstReference : public testing::TestWithParam<Shape> {};

// Everything that can be kept, over several blocks of queries, with another mask in each layer.
TEST_P(AgainstReference, EverythingInF32) {
  const TinyCheckpoint checkpoint(GetParam().sizes);
  ModelSpec spec = read_model_spec(checkpoint);
  const char* masks[] = {"causal", "window:20", "prefix:30", "full"};
  for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
    AttentionSpec& attention = spec.layers[layer].attention;
    attention.mask = Mask::parse(masks[layer]);
    attention.rotary_pairs = GetParam().pairs;
    attention.rotary->rotary_dim = GetParam().rotary_dim;
  }
  const TokenBatch batch = random_batch(5, 90);
  DecoderOptions options;
  options.groups = 2;
  options.per_head = options.probs = options.variance = true;
  const ScoreMap map = run_decoder(checkpoint, spec, batch, options);
  const ReferenceResult reference = run_reference(checkpoint, spec, batch);
  const auto square = static_cast<std::size_t>(map.n * map.n);
  const auto heads = static_cast<std::size_t>(map.heads);
  ASSERT_EQ(map.groups, 2);
  for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
    SCOPED_TRACE(masks[layer]);
    const Mask& mask = spec.layers[layer].attention.mask;
    const auto& scores = reference.scores[layer];
    const auto mean = [&](const auto& what, std::size_t first, std::size_t step, std::size_t low,
                          std::size_t high) {
      return mean_of(what, mask, map.n, first, step, low, high);
    };
    const std::vector<float> overall = mean(scores, 0, 1, 0, heads);
    EXPECT_LT(difference(part(map.scores, layer, square), overall), 2e-5);
    for (std::size_t group = 0; group < 2; ++group) {
      EXPECT_LT(difference(part(map.scores_groups, group * map.layers.size() + layer, square),
                           mean(scores, group, 2, 0, heads)),
                2e-5);
    }
    for (std::size_t h = 0; h < heads; ++h) {
      EXPECT_LT(difference(part(map.scores_heads, layer * heads + h, square),
                           mean(scores, 0, 1, h, h + 1)),
                2e-5);
    }
    EXPECT_LT(difference(part(map.probs, layer, square),
                         mean(reference.probabilities[layer], 0, 1, 0, heads)),
              2e-6);
    // Variance over sequences of the mean over heads.
    std::vector<float> variance(square);
    for (std::size_t s = 0; s < scores.size(); ++s) {
      const std::vector<float> one = mean(scores, s, scores.size(), 0, heads);
      for (std::size_t i = 0; i < square; ++i) {
        const float deviation = one[i] - overall[i];
        variance[i] += deviation * deviation / static_cast<float>(scores.size() - 1);
      }
    }
    EXPECT_LT(difference(part(map.variance, layer, square), variance), 2e-5);
  }
  ASSERT_EQ(map.loss.size(), 89u);
  for (std::size_t p = 0; p < map.loss.size(); ++p) {
    double sum = 0;
    for (const auto& sequence : reference.loss) sum += sequence[p];
    EXPECT_NEAR(map.loss[p], sum / static_cast<double>(reference.loss.size()), 2e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AgainstReference,
    testing::Values(Shape{"Grouped", {.layers = 4}},
                    Shape{"Halves", {.layers = 4}, RotaryPairs::halves},
                    Shape{"PartlyRotated", {.layers = 4}, RotaryPairs::interleaved, 6},
                    Shape{"PartlyRotatedHalves", {.layers = 4}, RotaryPairs::halves, 2},
                    Shape{"OneKeyHead", {.layers = 4, .key_value_heads = 1}},
                    Shape{"NoGroups", {.layers = 4, .query_heads = 3, .key_value_heads = 3}},
                    Shape{"OddSizes",
                          {.layers = 4,
                           .hidden = 19,
                           .width = 23,
                           .query_heads = 5,
                           .key_value_heads = 5,
                           .head_dim = 10,
                           .vocabulary = 37}}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(Decoder, Bf16StaysWithinTwoPercentOfTheRange) {
  const TinyCheckpoint checkpoint({.layers = 3});
  const ModelSpec spec = read_model_spec(checkpoint);
  const TokenBatch batch = random_batch(4, 100);
  DecoderOptions options;
  options.probs = true;
  const ScoreMap exact = run_decoder(checkpoint, spec, batch, options);
  options.compute_type = ComputeType::bf16;
  const ScoreMap rounded = run_decoder(checkpoint, spec, batch, options);
  float low = 0;
  float high = 0;
  for (const float score : exact.scores) {
    low = std::min(low, score);
    high = std::max(high, score);
  }
  EXPECT_GT(difference(exact.scores, rounded.scores), 0) << "bf16 was not used";
  EXPECT_LT(difference(exact.scores, rounded.scores), 0.02 * double{high - low});
  EXPECT_LT(difference(exact.probs, rounded.probs), 0.02);
}

// Positions stay f32 in bf16 runs, where they would be equal in pairs beyond 256.
TEST(Decoder, Bf16DoesNotRoundPositions) {
  const TinyCheckpoint checkpoint({.layers = 1});
  ModelSpec spec = read_model_spec(checkpoint);
  spec.first_position = 1000;
  const TokenBatch batch = random_batch(1, 40);
  const ScoreMap rounded =
      run_decoder(checkpoint, spec, batch, {.compute_type = ComputeType::bf16});
  const ReferenceResult exact = run_reference(checkpoint, spec, batch);
  // With positions in multiples of 8 a score would be another by tenths.
  EXPECT_LT(difference(rounded.scores, mean_of(exact.scores[0], Mask{}, 40, 0, 1, 0, 4)), 0.05);
}

class Unchanged : public testing::Test {
 protected:
  TinyCheckpoint checkpoint_{{.layers = 3}};
  ModelSpec spec_ = read_model_spec(checkpoint_);
  TokenBatch batch_ = random_batch(10, 70);

  ScoreMap run(const TokenBatch& batch, const DecoderOptions& options = {}) const {
    return run_decoder(checkpoint_, spec_, batch, options);
  }
};

TEST_F(Unchanged, ByTheNumberOfThreads) {
  DecoderOptions options;
  options.groups = 3;
  options.variance = options.probs = true;
  const auto with_threads = [&](int count) {
    const Threads threads(count);
    return run(batch_, options);
  };
  const ScoreMap one = with_threads(1);
  const ScoreMap two = with_threads(2);
  const ScoreMap again = with_threads(2);
  const ScoreMap five = with_threads(5);
  for (const ScoreMap* other : {&two, &five}) {
    EXPECT_LT(difference(one.scores, other->scores), 1e-5);
    EXPECT_LT(difference(one.scores_groups, other->scores_groups), 1e-5);
    EXPECT_LT(difference(one.variance, other->variance), 1e-5);
    EXPECT_LT(difference(one.probs, other->probs), 1e-5);
    EXPECT_THAT(other->loss, testing::Pointwise(testing::DoubleNear(1e-5), one.loss));
  }
  EXPECT_TRUE(same_bits(two.scores, again.scores));
  EXPECT_TRUE(same_bits(two.scores_groups, again.scores_groups));
  EXPECT_TRUE(same_bits(two.variance, again.variance));
  EXPECT_EQ(two.loss, again.loss);
}

TEST_F(Unchanged, ByTheOrderOfSequences) {
  const ScoreMap forward = run(batch_);
  const ScoreMap shuffled = run(sequences_of(batch_, {3, 9, 0, 5, 1, 8, 2, 7, 6, 4}));
  EXPECT_LT(difference(forward.scores, shuffled.scores), 1e-5);
  EXPECT_THAT(shuffled.loss, testing::Pointwise(testing::DoubleNear(1e-5), forward.loss));
}

TEST_F(Unchanged, ByCuttingTheRunInTwo) {
  const ScoreMap whole = run(batch_);
  const ScoreMap first = run(sequences_of(batch_, {0, 1, 2, 3, 4}));
  const ScoreMap second = run(sequences_of(batch_, {5, 6, 7, 8, 9}));
  std::vector<float> combined = first.scores;
  for (std::size_t i = 0; i < combined.size(); ++i) {
    combined[i] = (combined[i] + second.scores[i]) / 2;
  }
  EXPECT_LT(difference(whole.scores, combined), 1e-5);
}

TEST_F(Unchanged, ByChunks) {
  DecoderOptions options;
  options.groups = 3;
  options.variance = options.per_head = true;
  const ScoreMap whole = run(batch_, options);
  std::optional<RunPlan> plan;
  for (options.memory_bytes = 1 << 20; !plan; options.memory_bytes += 1 << 12) {
    try {
      plan = plan_run(spec_, batch_, options, thread_count());
    } catch (const UsageError& error) {
      ASSERT_THAT(error.what(), HasSubstr("--memory"));
    }
  }
  ASSERT_EQ(plan->chunk_sequences, 1);
  const ScoreMap chunked = run(batch_, options);
  EXPECT_LT(difference(whole.scores, chunked.scores), 1e-5);
  EXPECT_LT(difference(whole.scores_groups, chunked.scores_groups), 1e-5);
  EXPECT_LT(difference(whole.scores_heads, chunked.scores_heads), 1e-5);
  EXPECT_LT(difference(whole.variance, chunked.variance), 1e-5);
  EXPECT_THAT(chunked.loss, testing::Pointwise(testing::DoubleNear(1e-5), whole.loss));
}

TEST_F(Unchanged, ByWhichLayersAreKept) {
  const ScoreMap all = run(batch_);
  const auto square = all.count.size();
  const ScoreMap some = run(batch_, {.layers = {0, 2}});
  EXPECT_EQ(some.layers, (std::vector<int>{0, 2}));
  EXPECT_TRUE(same_bits(part(some.scores, 0, square), part(all.scores, 0, square)));
  EXPECT_TRUE(same_bits(part(some.scores, 1, square), part(all.scores, 2, square)));
  EXPECT_EQ(some.loss, all.loss);
}

// Scores depend on differences of positions only, up to
// the rounding of large angles, so what must show is that the tables are others.
TEST_F(Unchanged, ByAShiftOfPositionsUpToRounding) {
  const ScoreMap plain = run(batch_);
  spec_.first_position = 1000;
  const ScoreMap shifted = run(batch_);
  EXPECT_LT(difference(plain.scores, shifted.scores), 1e-3);
  EXPECT_FALSE(same_bits(plain.scores, shifted.scores));
}

// The first layer's scores do not depend on any mask: what a mask shows has the value that the full
// one gives, whatever it is the mean of, and what it hides is NaN.
TEST_F(Unchanged, ByWhatTheMaskOfTheFirstLayerHides) {
  DecoderOptions options;
  options.layers = {0};
  options.groups = 3;
  options.per_head = options.probs = options.variance = true;
  const auto run_with = [&](const Mask& mask) {
    spec_.layers[0].attention.mask = mask;
    return run(batch_, options);
  };
  const ScoreMap full = run_with(Mask::parse("full"));
  for (const char* text : {"causal", "window:3", "prefix:40"}) {
    SCOPED_TRACE(text);
    const Mask mask = Mask::parse(text);
    const ScoreMap masked = run_with(mask);
    const auto expect = [&](const std::vector<float>& values, const std::vector<float>* open) {
      const auto n = static_cast<std::size_t>(masked.n);
      ASSERT_GE(values.size(), n * n);
      for (std::size_t at = 0; at < values.size(); ++at) {
        const auto key = static_cast<std::int64_t>(at % n);
        const KeyRange seen = mask.keys(static_cast<std::int64_t>(at / n % n), masked.n);
        if (key < seen.first || key >= seen.last) {
          ASSERT_TRUE(std::isnan(values[at])) << at;
        } else {
          ASSERT_TRUE(std::isfinite(values[at])) << at;
          const float expected = open == nullptr ? values[at] : (*open)[at];
          ASSERT_NEAR(values[at], expected, 1e-5) << at;
        }
      }
    };
    expect(masked.scores, &full.scores);
    expect(masked.scores_groups, &full.scores_groups);
    expect(masked.scores_heads, &full.scores_heads);
    expect(masked.variance, &full.variance);
    expect(masked.probs, nullptr);
  }
}

TEST(Decoder, StopsAfterTheScoresOfTheLastLayer) {
  TinyCheckpoint checkpoint({.layers = 3});
  const ModelSpec spec = read_model_spec(checkpoint);
  const TokenBatch batch = random_batch(3, 20);
  DecoderOptions options;
  options.layers = {0, 1};
  options.probs = true;
  const ScoreMap before = run_decoder(checkpoint, spec, batch, options);
  EXPECT_TRUE(before.loss.empty());
  // What the run must not read is not there any more.
  for (const char* name : {"blk.1.attn_v.weight", "blk.1.attn_output.weight",
                           "blk.1.ffn_gate.weight", "blk.2.attn_q.weight", "output.weight"}) {
    checkpoint.remove(name);
  }
  EXPECT_TRUE(same_bits(run_decoder(checkpoint, spec, batch, options).scores, before.scores));
  EXPECT_THROW(run_decoder(checkpoint, spec, batch, {}), Error);
}

TEST(Decoder, NoLossWhenNotAskedFor) {
  const TinyCheckpoint checkpoint;
  const ModelSpec spec = read_model_spec(checkpoint);
  DecoderOptions options;
  options.loss = false;
  EXPECT_TRUE(run_decoder(checkpoint, spec, random_batch(2, 9), options).loss.empty());
}

TEST(Decoder, CountsSequencesWhereSomeLayerShowsThePair) {
  const TinyCheckpoint checkpoint;
  const ModelSpec spec = poslens::apply(
      read_model_spec(checkpoint),
      {parse_intervention("mask=window:2@0"), parse_intervention("mask=prefix:3@1")});
  const ScoreMap map = run_decoder(checkpoint, spec, random_batch(4, 5), {});
  const std::vector<std::int64_t> expected = {4, 4, 4, 0, 0,  //
                                              4, 4, 4, 0, 0,  //
                                              4, 4, 4, 0, 0,  //
                                              4, 4, 4, 4, 0,  //
                                              4, 4, 4, 4, 4};
  EXPECT_EQ(map.count, expected);
  EXPECT_TRUE(std::isnan(map.layer(0)(4, 0)));
  EXPECT_FALSE(std::isnan(map.layer(1)(4, 0)));
}

TEST(Decoder, OneTokenAndSequencesBeyondTheContext) {
  TinyCheckpoint checkpoint;
  checkpoint.set("llama.context_length", std::int64_t{8});
  const ModelSpec spec = read_model_spec(checkpoint);
  const ScoreMap one = run_decoder(checkpoint, spec, random_batch(3, 1), {});
  EXPECT_FALSE(std::isnan(one.scores[0]));
  EXPECT_TRUE(one.loss.empty());
  EXPECT_EQ(run_decoder(checkpoint, spec, random_batch(1, 20), {}).loss.size(), 19u);
}

TEST(Decoder, BadInputIsRefusedBeforeWork) {
  const TinyCheckpoint checkpoint;
  const ModelSpec spec = read_model_spec(checkpoint);
  const auto message = [&](const TokenBatch& batch, const DecoderOptions& options) {
    try {
      run_decoder(checkpoint, spec, batch, options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  TokenBatch bad = random_batch(2, 4);
  bad.ids[6] = 37;
  EXPECT_THAT(message(bad, {}), HasSubstr("sequence 1, position 2: expected an id from 0 to 36, "
                                          "found 37"));
  bad.ids[6] = -1;
  EXPECT_THAT(message(bad, {}), HasSubstr("found -1"));
  EXPECT_THAT(message({4, {1, 2, 3}}, {}), HasSubstr("whole sequences of 4 ids, found 3"));
  EXPECT_THAT(message({4, {}}, {}), HasSubstr("found 0 ids"));
  const TokenBatch batch = random_batch(2, 4);
  EXPECT_THAT(message(batch, {.layers = {0, 2}}),
              HasSubstr("--layers 2: the model has 2 layers, 0 to 1"));
  EXPECT_THAT(message(batch, {.layers = {-1}}), HasSubstr("--layers -1"));
  EXPECT_THAT(message(batch, {.layers = {1, 0}}), HasSubstr("ascending"));
  EXPECT_THAT(message(batch, {.groups = 0}), HasSubstr("--groups 0"));
  EXPECT_THAT(message(batch, {.groups = 3}), HasSubstr("at most the number of sequences, 2"));
  EXPECT_THAT(message(random_batch(1, 4), {.variance = true}), HasSubstr("at least 2 sequences"));
  EXPECT_THAT(message(batch, {.memory_bytes = 0}), HasSubstr("--memory 0"));
  EXPECT_THAT(message(batch, {.memory_bytes = 1 << 20}), HasSubstr("--memory 1 MiB: expected"));
}

}  // namespace
}  // namespace poslens
