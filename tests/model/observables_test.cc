// Every observable under every kind of intervention, against transformers
// (tools/golden/model_observables.py): they combine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "model/golden_fixture.h"
#include "model/reference_decoder.h"
#include "model/run_plan.h"
#include "model/tiny_checkpoint.h"
#include "poslens/error.h"
#include "poslens/gram.h"
#include "poslens/pooling.h"
#include "poslens/threads.h"

namespace poslens {
namespace {

// Values of one run of a fixture, by name; see the generator.
struct Expected {
  NpzContents contents;
  std::string text;  // the interventions

  std::vector<float> floats(const std::string& name) const {
    return contents.arrays.at(text + ' ' + name).values<float>();
  }
};

struct Largest {
  double deviation = 0;  // NaN where only one of two values is NaN
  double range = 0;      // of the expected values
  double size = 0;       // the largest of them
};

// Entries first..last-1 of arrays; expected zeros stand for hidden pairs where hidden_is_zero.
Largest compare(const std::vector<float>& found, const std::vector<float>& expected,
                std::size_t first, std::size_t last, bool hidden_is_zero = false) {
  Largest largest;
  double low = INFINITY;
  double high = -INFINITY;
  for (std::size_t i = first; i < last; ++i) {
    const bool hidden = std::isnan(expected[i]) || (hidden_is_zero && expected[i] == 0);
    if (hidden && (std::isnan(found[i]) || hidden_is_zero)) continue;
    const double deviation = std::abs(double{found[i]} - expected[i]);
    if (!(deviation <= largest.deviation)) largest.deviation = deviation;
    low = std::min(low, double{expected[i]});
    high = std::max(high, double{expected[i]});
    largest.size = std::max(largest.size, std::abs(double{expected[i]}));
  }
  largest.range = high > low ? high - low : 1;  // all NaN, as it should be, is close
  return largest;
}

struct Terms {
  bool hidden_is_zero = false;
  bool products = false;  // nearly the same for all pairs: by the largest, not by the range
  // By the range of these parts, of which the compared values are means; part for part, again and
  // again.
  std::vector<float> range_of{};
  std::size_t range_parts = 1;
};

// Every part of a run, part by part (a layer of a map, a plane of the residual stream), against
// the bound: absolute in f32, in bf16 a share of the part's range.
void expect_close(const std::vector<float>& found, const std::vector<float>& expected,
                  std::size_t parts, ComputeType type, const Terms& terms = {}) {
  ASSERT_EQ(found.size(), expected.size());
  const std::size_t size = found.size() / parts;
  for (std::size_t part = 0; part < parts; ++part) {
    const Largest largest =
        compare(found, expected, part * size, (part + 1) * size, terms.hidden_is_zero);
    double scale = terms.products ? std::max(largest.range, largest.size) : largest.range;
    if (!terms.range_of.empty()) {
      const std::size_t whole = terms.range_of.size() / terms.range_parts;
      const std::size_t first = part % terms.range_parts * whole;
      scale = compare(terms.range_of, terms.range_of, first, first + whole, true).range;
    }
    EXPECT_LT(largest.deviation, type == ComputeType::f32 ? 1e-4 : 0.02 * scale) << "part " << part;
  }
}

class Observables : public testing::TestWithParam<std::tuple<const char*, ComputeType>> {
 protected:
  Observables()
      : golden_(std::get<0>(GetParam())),
        contents_(read_npz(std::filesystem::path(POSLENS_TEST_DATA) / "golden" /
                           std::get<0>(GetParam()) / "observables.npz")) {}

  ComputeType type() const { return std::get<1>(GetParam()); }
  std::vector<std::string> texts() const {
    constexpr std::string_view kEnd = " hidden";
    std::vector<std::string> texts;
    for (const auto& [name, array] : contents_.arrays) {
      if (name.ends_with(kEnd)) texts.push_back(name.substr(0, name.size() - kEnd.size()));
    }
    return texts;
  }
  ScoreMap run(const std::string& text, DecoderOptions options) const {
    options.compute_type = type();
    return run_decoder(golden_.checkpoint(), golden_.changed(text), golden_.batch(), options);
  }

  GoldenFixture golden_;
  NpzContents contents_;
};

TEST_P(Observables, OfEveryIntervention) {
  ASSERT_GE(texts().size(), 3u);
  for (const std::string& text : texts()) {
    SCOPED_TRACE(text);
    const Expected expected{contents_, text};
    DecoderOptions options;
    options.per_head = options.probs = options.variance = options.hidden = true;
    const ScoreMap map = run(text, options);
    const std::size_t layers = map.layers.size();
    expect_close(map.scores_heads, expected.floats("scores_heads"), layers, type(),
                 {.hidden_is_zero = true});
    expect_close(map.probs, expected.floats("probs"), layers, type(), {.hidden_is_zero = true});
    expect_close(map.hidden, expected.floats("hidden"), layers + 1, type());
    if (type() == ComputeType::f32) {
      expect_close(map.variance, expected.floats("variance"), layers, type(),
                   {.hidden_is_zero = true});
    }
  }
}

// Letters of the figure; h and i are the next layer's a and b.
std::vector<float> gram_of(const Expected& expected, GramStage stage, std::size_t layers) {
  const auto place = static_cast<std::size_t>(stage);
  const bool next = stage >= GramStage::next_attention_input;
  const std::size_t letter = next ? place - 7 : place;
  const std::vector<float> maps = expected.floats(std::string(1, "abcdefg"[letter]));
  std::vector<float> result(maps.size(), std::numeric_limits<float>::quiet_NaN());
  const std::size_t square = maps.size() / layers;
  const std::size_t skipped = next ? square : 0;
  std::copy(maps.begin() + static_cast<std::ptrdiff_t>(skipped), maps.end(), result.begin());
  if (stage == GramStage::query_key || stage == GramStage::next_query_key) return result;
  const auto n = static_cast<std::size_t>(std::sqrt(static_cast<double>(square)));
  for (std::size_t at = 0; at < result.size() - skipped; ++at) {
    const std::size_t i = at % square / n;
    const std::size_t j = at % n;
    if (j > i) result[at] = result[at - i * n - j + j * n + i];  // the file holds one half
  }
  return result;
}

TEST_P(Observables, GramMaps) {
  for (const std::string& text : texts()) {
    SCOPED_TRACE(text);
    const Expected expected{contents_, text};
    DecoderOptions options;
    options.gram = true;
    const ScoreMap map = run(text, options);
    const std::size_t layers = map.layers.size();
    ASSERT_EQ(map.gram.size(), kGramNames.size());
    for (std::size_t stage = 0; stage < kGramNames.size(); ++stage) {
      SCOPED_TRACE(kGramNames[stage]);
      const auto place = static_cast<GramStage>(stage);
      expect_close(
          map.gram.at(kGramNames[stage]), gram_of(expected, place, layers), layers, type(),
          {.hidden_is_zero = place == GramStage::query_key || place == GramStage::next_query_key,
           .products = true});
    }
  }
}

// Pooling against numpy's of the same scores; 16 positions are no multiple of 5.
TEST_P(Observables, PooledMaps) {
  for (const std::string& text : texts()) {
    SCOPED_TRACE(text);
    const Expected expected{contents_, text};
    DecoderOptions options;
    options.pool = 5;
    options.groups = 2;
    options.per_head = options.probs = options.variance = options.hidden = true;
    const ScoreMap map = run(text, options);
    const std::size_t layers = map.layers.size();
    EXPECT_EQ(map.n, 4);
    EXPECT_EQ(map.positions(), 16);
    const Terms of_scores{.range_of = expected.floats("scores_heads"), .range_parts = layers};
    const Terms of_probs{.range_of = expected.floats("probs"), .range_parts = layers};
    expect_close(map.scores, expected.floats("pool5 scores"), layers, type(), of_scores);
    expect_close(map.scores_groups, expected.floats("pool5 scores_groups"), 2 * layers, type(),
                 of_scores);
    expect_close(map.scores_heads, expected.floats("pool5 scores_heads"), layers, type(),
                 of_scores);
    expect_close(map.probs, expected.floats("pool5 probs"), layers, type(), of_probs);
    expect_close(map.hidden, expected.floats("hidden"), layers + 1, type());
    if (type() == ComputeType::f32) {
      expect_close(map.variance, expected.floats("pool5 variance"), layers, type());
    }
    for (const char* kind : {"rows", "columns", "diagonals"}) {
      const std::vector<double>& found = map.profiles.at(std::string("scores_") + kind);
      expect_close({found.begin(), found.end()}, expected.floats(kind), layers, type(), of_scores);
      EXPECT_EQ(map.profiles.at(std::string("probs_") + kind).size(), found.size());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Observables,
                         testing::Combine(testing::Values("llama_llama3", "qwen3_tied",
                                                          "gpt_neox_parallel", "olmo2_biases",
                                                          "gemma2_caps", "bloom_from_norm"),
                                          testing::Values(ComputeType::f32, ComputeType::bf16)),
                         [](const auto& tested) {
                           return std::string(std::get<0>(tested.param)) + '_' +
                                  to_string(std::get<1>(tested.param));
                         });

// What a file holds when only some layers are asked for.
TEST(Hidden, RowsAreTheInputsOfTheLayersKeptAndTheOutputOfTheLast) {
  const GoldenFixture golden("smollm3_plain");  // four layers
  const auto run = [&](std::vector<int> layers) {
    DecoderOptions options;
    options.layers = std::move(layers);
    options.hidden = true;
    return run_decoder(golden.checkpoint(), golden.spec(), golden.batch(), options);
  };
  const std::vector<float> all = run({}).hidden;
  const ScoreMap some = run({0, 2});
  const auto size = all.size() / 5;
  EXPECT_EQ(some.hidden_width, golden.spec().hidden);
  ASSERT_EQ(some.hidden.size(), 3 * size);
  EXPECT_TRUE(some.loss.empty());
  const std::size_t places[] = {0, 2, 3};
  for (std::size_t row = 0; row < 3; ++row) {
    const auto first = some.hidden.begin() + static_cast<std::ptrdiff_t>(row * size);
    EXPECT_TRUE(std::equal(first, first + static_cast<std::ptrdiff_t>(size),
                           all.begin() + static_cast<std::ptrdiff_t>(places[row] * size)))
        << row;
  }
  EXPECT_TRUE(run_decoder(golden.checkpoint(), golden.spec(), golden.batch(), {}).hidden.empty());
}

// The stages of the next layer need no more than that layer's norm and projections.
TEST(Gram, OfSomeLayersIsThatOfAll) {
  const GoldenFixture golden("smollm3_plain");
  DecoderOptions options;
  options.gram = true;
  const ScoreMap all = run_decoder(golden.checkpoint(), golden.spec(), golden.batch(), options);
  options.layers = {0, 2};
  const ScoreMap some = run_decoder(golden.checkpoint(), golden.spec(), golden.batch(), options);
  EXPECT_TRUE(some.loss.empty());
  const auto square = static_cast<std::size_t>(all.n * all.n);
  for (const auto& [name, maps] : all.gram) {
    const std::vector<float>& found = some.gram.at(name);
    ASSERT_EQ(found.size(), 2 * square);
    for (std::size_t i = 0; i < square; ++i) {
      for (const std::size_t place : {0U, 1U}) {
        const float a = found[place * square + i];
        const float b = maps[2 * place * square + i];
        ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << name << ' ' << i;
      }
    }
  }
  for (std::size_t i = 0; i < some.scores.size(); ++i) {
    const std::size_t at = i + (i < square ? 0 : square);
    ASSERT_TRUE(std::abs(some.scores[i] - all.scores[at]) < 1e-6 || std::isnan(all.scores[at]));
  }
}

// Several blocks of positions, several chunks, any number of threads.
TEST(Gram, IsTheMeanOfTheProductsOfTheReferencesStream) {
  const TinyCheckpoint checkpoint({.layers = 2});
  const ModelSpec spec = read_model_spec(checkpoint);
  TokenBatch batch{150, {}};
  RandomStream random(7, 0);
  for (int i = 0; i < 3 * 150; ++i) {
    batch.ids.push_back(static_cast<std::int32_t>(random.below(37)));
  }
  const ReferenceResult reference = run_reference(checkpoint, spec, batch);
  DecoderOptions options;
  options.gram = true;
  for (const int threads : {1, 3}) {
    const int before = thread_count();
    set_thread_count(threads);
    const ScoreMap map = run_decoder(checkpoint, spec, batch, options);
    set_thread_count(before);
    const std::vector<float>& found = map.gram.at("layer_output");
    for (std::size_t at = 0; at < found.size(); ++at) {
      const std::size_t layer = at / (150 * 150);
      double sum = 0;
      for (const auto& hidden : reference.hidden) {
        const auto& u = hidden[layer + 1][at / 150 % 150];
        const auto& v = hidden[layer + 1][at % 150];
        sum += std::inner_product(u.begin(), u.end(), v.begin(), 0.0);
      }
      ASSERT_NEAR(found[at], sum / 3, 1e-4 * (1 + std::abs(sum)));
    }
    const std::vector<float>& scores = map.gram.at("query_key");
    for (std::size_t at = 0; at < scores.size(); ++at) {
      ASSERT_EQ(std::isnan(scores[at]), std::isnan(map.scores[at]));
      if (std::isnan(scores[at])) continue;
      ASSERT_NEAR(scores[at], map.scores[at], 2e-5);
    }
  }
}

// Every block size, mask and shape of work: pooling in the run is pooling afterwards.
TEST(Pooled, IsThePoolingOfTheWholeMap) {
  const TinyCheckpoint checkpoint({.layers = 4});
  ModelSpec spec = read_model_spec(checkpoint);
  const char* masks[] = {"causal", "window:20", "prefix:30", "full"};
  for (std::size_t layer = 0; layer < 4; ++layer) {
    spec.layers[layer].attention.mask = Mask::parse(masks[layer]);
  }
  constexpr std::int64_t kLength = 150;
  TokenBatch batch{kLength, {}};
  RandomStream random(7, 0);
  for (std::int64_t i = 0; i < 5 * kLength; ++i) {
    batch.ids.push_back(static_cast<std::int32_t>(random.below(37)));
  }
  DecoderOptions options;
  options.groups = 2;
  options.per_head = options.probs = true;
  const ScoreMap whole = run_decoder(checkpoint, spec, batch, options);
  const auto square = static_cast<std::size_t>(kLength * kLength);
  for (const std::int64_t pool : {2, 5, 7, 16, 37, 64, 100, 149, 150}) {
    SCOPED_TRACE(pool);
    options.pool = pool;
    const ScoreMap map = run_decoder(checkpoint, spec, batch, options);
    ASSERT_EQ(map.n, (kLength + pool - 1) / pool);
    const auto expect_pooled = [&](const std::vector<float>& found,
                                   const std::vector<float>& maps) {
      const std::size_t planes = maps.size() / square;
      const std::size_t size = found.size() / planes;
      ASSERT_EQ(size, static_cast<std::size_t>(map.n * map.n));
      for (std::size_t plane = 0; plane < planes; ++plane) {
        const Matrix<float> pooled = pool_mean({maps.data() + plane * square, kLength, kLength},
                                               static_cast<std::size_t>(pool));
        for (std::size_t i = 0; i < size; ++i) {
          const float a = found[plane * size + i];
          const float b = pooled.values()[i];
          ASSERT_TRUE(std::abs(a - b) < 1e-5 || (std::isnan(a) && std::isnan(b))) << a << ' ' << b;
        }
      }
    };
    expect_pooled(map.scores, whole.scores);
    expect_pooled(map.scores_groups, whole.scores_groups);
    expect_pooled(map.scores_heads, whole.scores_heads);
    expect_pooled(map.probs, whole.probs);
    for (const std::string what : {"scores", "probs"}) {
      const std::vector<float>& maps = what == "scores" ? whole.scores : whole.probs;
      for (std::size_t layer = 0; layer < 4; ++layer) {
        const auto mean = [&](const auto& is_in) {
          double sum = 0;
          std::int64_t count = 0;
          for (std::int64_t i = 0; i < kLength; ++i) {
            for (std::int64_t j = 0; j < kLength; ++j) {
              const float value = maps[layer * square + static_cast<std::size_t>(i * kLength + j)];
              if (!is_in(i, j) || std::isnan(value)) continue;
              sum += value;
              ++count;
            }
          }
          return count == 0 ? std::nan("") : sum / static_cast<double>(count);
        };
        const auto expect_near = [&](const std::string& kind, std::int64_t place, double expected) {
          const std::vector<double>& all = map.profiles.at(what + kind);
          const std::size_t extent = all.size() / 4;
          const double found = all[layer * extent + static_cast<std::size_t>(place)];
          EXPECT_TRUE(std::abs(found - expected) < 1e-5 ||
                      (std::isnan(found) && std::isnan(expected)))
              << what << kind << ' ' << place << ": " << found << ' ' << expected;
        };
        for (const std::int64_t p : {0, 1, 77, 149}) {
          expect_near("_rows", p, mean([&](auto i, auto) { return i == p; }));
          expect_near("_columns", p, mean([&](auto, auto j) { return j == p; }));
          expect_near("_diagonals", p + 149, mean([&](auto i, auto j) { return i - j == p; }));
          expect_near("_diagonals", 149 - p, mean([&](auto i, auto j) { return j - i == p; }));
        }
      }
    }
    EXPECT_THAT(map.loss, testing::Pointwise(testing::DoubleNear(1e-5), whole.loss));
  }
}

TEST(Pooled, IsTheSameForAnyNumberOfThreadsAndChunks) {
  const TinyCheckpoint checkpoint({.layers = 2});
  const ModelSpec spec = read_model_spec(checkpoint);
  TokenBatch batch{150, {}};
  RandomStream random(9, 0);
  for (int i = 0; i < 6 * 150; ++i) {
    batch.ids.push_back(static_cast<std::int32_t>(random.below(37)));
  }
  DecoderOptions options;
  options.pool = 20;
  options.variance = true;
  const ScoreMap plain = run_decoder(checkpoint, spec, batch, options);
  const auto expect_same = [&](const ScoreMap& other) {
    for (std::size_t i = 0; i < plain.scores.size(); ++i) {
      if (std::isnan(plain.scores[i])) continue;
      ASSERT_NEAR(plain.scores[i], other.scores[i], 1e-5);
      ASSERT_NEAR(plain.variance[i], other.variance[i], 1e-5);
    }
    const std::vector<double>& lags = plain.profiles.at("scores_diagonals");
    for (std::size_t i = 0; i < lags.size(); ++i) {
      if (std::isnan(lags[i])) continue;
      ASSERT_NEAR(lags[i], other.profiles.at("scores_diagonals")[i], 1e-5);
    }
  };
  const int before = thread_count();
  set_thread_count(3);
  expect_same(run_decoder(checkpoint, spec, batch, options));
  set_thread_count(before);
  for (options.memory_bytes = 1 << 20;; options.memory_bytes += 1 << 12) {
    try {
      EXPECT_LT(plan_run(spec, batch, options, before).chunk_sequences, 3);
      break;
    } catch (const UsageError&) {
    }
  }
  expect_same(run_decoder(checkpoint, spec, batch, options));
}

TEST(Pooled, WhatMakesNoSenseIsRefused) {
  const GoldenFixture golden("llama_yarn");
  const auto message = [&](const DecoderOptions& options) -> std::string {
    try {
      run_decoder(golden.checkpoint(), golden.spec(), golden.batch(), options);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  };
  DecoderOptions options;
  options.pool = 0;
  EXPECT_EQ(message(options), "--pool 0: expected a whole number from 1");
  options.pool = 17;
  EXPECT_EQ(message(options), "--pool 17: expected at most the length of a sequence, 16");
  options.pool = 4;
  options.gram = true;
  EXPECT_EQ(message(options), "--pool 4: expected without --gram, whose maps are not pooled");
}

// The least memory that a run agrees to, and what it gives.
ScoreMap run_in_little_memory(const GoldenFixture& golden, DecoderOptions options) {
  for (options.memory_bytes = 1 << 20;; options.memory_bytes += 1 << 12) {
    try {
      const RunPlan plan = plan_run(golden.spec(), golden.batch(), options, thread_count());
      EXPECT_EQ(plan.chunk_sequences, 1);
      break;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("--memory"));
    }
  }
  return run_decoder(golden.checkpoint(), golden.spec(), golden.batch(), options);
}

TEST(Hidden, IsTheSameInOneChunkAndInThree) {
  const GoldenFixture golden("llama_yarn");
  DecoderOptions options;
  options.hidden = true;
  const ScoreMap whole = run_decoder(golden.checkpoint(), golden.spec(), golden.batch(), options);
  const ScoreMap chunked = run_in_little_memory(golden, options);
  for (std::size_t i = 0; i < whole.hidden.size(); ++i) {
    ASSERT_NEAR(whole.hidden[i], chunked.hidden[i], 1e-5);
  }
}

TEST(Hidden, IsPartOfTheMemoryThatIsPlannedFor) {
  const GoldenFixture golden("llama_yarn");
  const ModelSpec& spec = golden.spec();
  // Sequences so long that the mean residual stream takes more than what is allowed.
  const std::int64_t length = 1 << 16;
  const TokenBatch batch{length, std::vector<std::int32_t>(static_cast<std::size_t>(length), 3)};
  DecoderOptions options;
  options.layers = {0};
  options.memory_bytes = std::int64_t{1} << 40;
  const auto least = [&] {
    for (std::int64_t bytes = 1 << 20;; bytes += bytes / 1000) {
      options.memory_bytes = bytes;
      try {
        plan_run(spec, batch, options, 1);
        return bytes;
      } catch (const UsageError&) {
      }
    }
  };
  const std::int64_t without = least();
  options.hidden = true;
  const std::int64_t kept = 2 * length * spec.hidden * std::int64_t{sizeof(float)};
  EXPECT_NEAR(static_cast<double>(least() - without), static_cast<double>(kept),
              0.002 * static_cast<double>(without));
}

}  // namespace
}  // namespace poslens
