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

// Every part of a run, part by part (a layer of a map, a plane of the residual stream), against
// the bound: absolute in f32, in bf16 a share of the part's range (of the largest value, for
// products that are nearly the same for all pairs).
void expect_close(const std::vector<float>& found, const std::vector<float>& expected,
                  std::size_t parts, ComputeType type, bool hidden_is_zero = false,
                  bool products = false) {
  ASSERT_EQ(found.size(), expected.size());
  const std::size_t size = found.size() / parts;
  for (std::size_t part = 0; part < parts; ++part) {
    const Largest largest =
        compare(found, expected, part * size, (part + 1) * size, hidden_is_zero);
    const double scale = products ? std::max(largest.range, largest.size) : largest.range;
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
    expect_close(map.scores_heads, expected.floats("scores_heads"), layers, type(), true);
    expect_close(map.probs, expected.floats("probs"), layers, type(), true);
    expect_close(map.hidden, expected.floats("hidden"), layers + 1, type());
    if (type() == ComputeType::f32) {
      expect_close(map.variance, expected.floats("variance"), layers, type(), true);
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
      expect_close(map.gram.at(kGramNames[stage]), gram_of(expected, place, layers), layers, type(),
                   place == GramStage::query_key || place == GramStage::next_query_key, true);
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
