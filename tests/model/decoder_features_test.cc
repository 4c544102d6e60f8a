// Everything a ModelSpec can say, one thing after the other, on the decoder and on the readable
// reference. What the families make of their files is golden_test.cc's.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "model/reference_decoder.h"
#include "model/tiny_checkpoint.h"
#include "poslens/decoder.h"
#include "poslens/error.h"

namespace poslens {
namespace {

constexpr int kHidden = 24, kQueryHeads = 4, kKeyHeads = 2, kHeadDim = 8;
constexpr std::int64_t kLength = 70;  // several blocks of query rows

struct Feature {
  const char* name;
  std::function<void(TinyCheckpoint&, ModelSpec&)> add;
};

void each_layer(ModelSpec& spec, const std::function<void(LayerSpec&)>& change) {
  for (LayerSpec& layer : spec.layers) change(layer);
}
void each_attention(ModelSpec& spec, const std::function<void(AttentionSpec&)>& change) {
  each_layer(spec, [&](LayerSpec& layer) { change(layer.attention); });
}

NormSpec layer_norm(TinyCheckpoint& checkpoint, const std::string& name, std::int64_t size) {
  checkpoint.add(name + ".weight", {size});
  checkpoint.add(name + ".bias", {size});
  return {NormSpec::Kind::layer, 1e-2, {name + ".weight"}, name + ".bias"};
}

const Feature kFeatures[] = {
    {"LayerNorms",
     [](TinyCheckpoint& checkpoint, ModelSpec& spec) {
       each_layer(spec, [&](LayerSpec& layer) {
         layer.attention_norm = layer_norm(checkpoint, "first", kHidden);
         layer.feed_forward_norm = {NormSpec::Kind::layer, 1e-2};
       });
       spec.final_norm = {NormSpec::Kind::layer, 1e-2, spec.final_norm.weight};
     }},
    {"NormsThatAddOne",
     [](TinyCheckpoint&, ModelSpec& spec) {
       each_layer(spec, [](LayerSpec& layer) { layer.attention_norm.adds_one = true; });
     }},
    {"OutputNormsOnly",
     [](TinyCheckpoint&, ModelSpec& spec) {
       each_layer(spec, [](LayerSpec& layer) {
         std::swap(layer.attention_norm, layer.attention_output_norm);
         std::swap(layer.feed_forward_norm, layer.feed_forward_output_norm);
       });
     }},
    {"NormsOnBothSides",
     [](TinyCheckpoint& checkpoint, ModelSpec& spec) {
       each_layer(spec, [&](LayerSpec& layer) {
         layer.attention_output_norm = layer_norm(checkpoint, "third", kHidden);
         layer.feed_forward_output_norm = layer_norm(checkpoint, "fourth", kHidden);
       });
     }},
    {"ParallelBlock",
     [](TinyCheckpoint&, ModelSpec& spec) {
       each_layer(spec, [](LayerSpec& layer) { layer.residual = Residual::parallel; });
     }},
    {"ResidualFromTheNorm",
     [](TinyCheckpoint&, ModelSpec& spec) {
       each_layer(spec, [](LayerSpec& layer) { layer.residual = Residual::from_norm; });
     }},
    {"HeadNormsWithOneWeight",
     [](TinyCheckpoint& checkpoint, ModelSpec& spec) {
       each_attention(spec, [&](AttentionSpec& attention) {
         attention.query_norm = layer_norm(checkpoint, "q_norm", kHeadDim);
         checkpoint.add("k_norm", {kHeadDim});
         attention.key_norm = {NormSpec::Kind::rms, 1e-2, {"k_norm"}};
       });
     }},
    {"HeadNormsWithAWeightEach",
     [](TinyCheckpoint& checkpoint, ModelSpec& spec) {
       each_attention(spec, [&](AttentionSpec& attention) {
         checkpoint.add("q_norm", {kQueryHeads, kHeadDim});
         attention.query_norm = {NormSpec::Kind::layer, 1e-2, {"q_norm"}};
         attention.key_norm = {NormSpec::Kind::layer, 1e-2};
         for (int h = 0; h < kKeyHeads; ++h) {
           const std::string name = "k_norm." + std::to_string(h);
           checkpoint.add(name, {kHeadDim});
           attention.key_norm.weight.push_back(name);
         }
       });
     }},
    {"NormsAcrossHeads",
     [](TinyCheckpoint& checkpoint, ModelSpec& spec) {
       each_attention(spec, [&](AttentionSpec& attention) {
         checkpoint.add("q_norm", {std::int64_t{kQueryHeads} * kHeadDim});
         checkpoint.add("k_norm", {std::int64_t{kKeyHeads} * kHeadDim});
         attention.query_norm = {NormSpec::Kind::rms, 1e-2, {"q_norm"}};
         attention.key_norm = {NormSpec::Kind::rms, 1e-2, {"k_norm"}};
         attention.norm_spans_heads = true;
       });
     }},
    {"Clip",
     [](TinyCheckpoint&, ModelSpec& spec) {
       each_attention(spec, [](AttentionSpec& attention) { attention.clip = 0.7; });
     }},
    {"RowsOfOneTensor",
     [](TinyCheckpoint& checkpoint, ModelSpec& spec) {
       // Per key-value head: the group's queries, the key, the value.
       constexpr int kGroup = kQueryHeads / kKeyHeads;
       constexpr std::int64_t kStride = (kGroup + 2) * kHeadDim;
       checkpoint.add("qkv.weight", {kKeyHeads * kStride, kHidden});
       checkpoint.add("qkv.bias", {kKeyHeads * kStride});
       each_attention(spec, [&](AttentionSpec& attention) {
         const auto rows = [&](int first, int heads) {
           return LinearSpec{"qkv.weight",
                             "qkv.bias",
                             {std::int64_t{first} * kHeadDim, std::int64_t{heads} * kHeadDim,
                              kStride, kKeyHeads * kStride}};
         };
         attention.query = rows(0, kGroup);
         attention.key = rows(kGroup, 1);
         attention.value = rows(kGroup + 1, 1);
       });
     }},
    {"TransposedTensor",
     [](TinyCheckpoint& checkpoint, ModelSpec& spec) {
       constexpr std::int64_t kTotal = (kQueryHeads + 2 * kKeyHeads) * kHeadDim;
       checkpoint.add("qkv.weight", {kHidden, kTotal});
       checkpoint.add("qkv.bias", {kTotal});
       each_attention(spec, [&](AttentionSpec& attention) {
         const auto from = [&](int head) {
           return LinearSpec{"qkv.weight",
                             "qkv.bias",
                             {.first = std::int64_t{head} * kHeadDim, .total = kTotal},
                             true};
         };
         attention.query = from(0);
         attention.key = from(kQueryHeads);
         attention.value = from(kQueryHeads + kKeyHeads);
       });
     }},
    {"ScaledRotation",
     [](TinyCheckpoint&, ModelSpec& spec) {
       each_attention(spec, [](AttentionSpec& attention) {
         attention.rope_scaling.kind = RopeScaling::Kind::longrope;
         attention.rope_scaling.factor = 4;
         attention.rope_scaling.original = 40;
         attention.rope_scaling.short_factors = {1, 1, 1, 1};
         attention.rope_scaling.long_factors = {1, 2, 3, 4};
       });
       spec.layers[1].attention.rope_scaling = RopeScaling::parse("dynamic:3:16");
       spec.layers[2].attention.rope_scaling = RopeScaling::parse("yarn:4:32");
       spec.first_position = 5;
     }},
    {"LayersWithoutRotation",
     [](TinyCheckpoint&, ModelSpec& spec) { spec.layers[1].attention.rotary.reset(); }},
    {"Softcap",
     [](TinyCheckpoint&, ModelSpec& spec) {
       each_attention(spec, [](AttentionSpec& attention) { attention.softcap = 1.5; });
     }},
    {"Alibi",
     [](TinyCheckpoint&, ModelSpec& spec) {
       each_attention(spec, [](AttentionSpec& attention) {
         attention.rotary.reset();
         attention.alibi = AlibiSpec{.factor = 0.5, .rounds_to_bf16 = true};
       });
       spec.layers[1].attention.alibi = AlibiSpec{.counts_from_end = true};
       spec.layers[2].attention.mask = Mask::parse("window:20");
     }},
    {"LearnedPositions",
     [](TinyCheckpoint& checkpoint, ModelSpec& spec) {
       each_attention(spec, [](AttentionSpec& attention) { attention.rotary.reset(); });
       checkpoint.add("wpe", {80, kHidden});
       spec.learned_positions = "wpe";
       spec.position_limit = 80;
       spec.first_position = 10;
     }},
    {"EmbeddingScaleAndNorm",
     [](TinyCheckpoint& checkpoint, ModelSpec& spec) {
       spec.embedding_scale = 3;
       spec.embedding_norm = layer_norm(checkpoint, "embedding_norm", kHidden);
     }},
    {"GatedGelu",
     [](TinyCheckpoint&, ModelSpec& spec) {
       each_layer(spec, [](LayerSpec& layer) { layer.feed_forward.activation = Activation::gelu; });
     }},
    {"PlainFeedForward",
     [](TinyCheckpoint&, ModelSpec& spec) {
       each_layer(spec, [](LayerSpec& layer) { layer.feed_forward.gate = {}; });
       spec.layers[1].feed_forward.activation = Activation::gelu;
       spec.layers[2].feed_forward.activation = Activation::gelu_tanh;
     }},
    {"Head",
     [](TinyCheckpoint& checkpoint, ModelSpec& spec) {
       checkpoint.add("head.bias", {37});
       spec.head.bias = "head.bias";
       spec.logit_scale = 0.3;
       spec.logit_softcap = 2;
     }},
};

class Features : public testing::TestWithParam<Feature> {
 protected:
  Features() : checkpoint_({.layers = 3}) {
    RandomStream random(5, 0);
    for (std::int64_t i = 0; i < 3 * kLength; ++i) {
      batch_.ids.push_back(static_cast<std::int32_t>(random.below(37)));
    }
    plain_ = read_model_spec(checkpoint_);
  }

  TinyCheckpoint checkpoint_;
  ModelSpec plain_;
  TokenBatch batch_{kLength, {}};
};

double largest_difference(const ScoreMap& map, const ReferenceResult& reference) {
  double largest = 0;
  const auto square = static_cast<std::size_t>(map.n * map.n);
  const auto heads = static_cast<std::size_t>(map.heads);
  for (std::size_t at = 0; at < map.scores_heads.size(); ++at) {
    if (std::isnan(map.scores_heads[at])) continue;  // hidden
    const auto& sequences = reference.scores[at / square / heads];
    double mean = 0;
    for (const auto& sequence : sequences) {
      mean += sequence[at / square % heads][at % square] / static_cast<double>(sequences.size());
    }
    largest = std::max(largest, std::abs(map.scores_heads[at] - mean));
  }
  return largest;
}

TEST_P(Features, AsTheReference) {
  ModelSpec spec = plain_;
  GetParam().add(checkpoint_, spec);
  const ReferenceResult reference = run_reference(checkpoint_, spec, batch_);
  DecoderOptions options;
  options.per_head = true;
  const ScoreMap map = run_decoder(checkpoint_, spec, batch_, options);
  EXPECT_LT(largest_difference(map, reference), 4e-5);
  for (std::size_t p = 0; p < map.loss.size(); ++p) {
    double mean = 0;
    for (const auto& sequence : reference.loss) mean += sequence[p] / 3;
    EXPECT_NEAR(map.loss[p], mean, 3e-5);
  }
  // The feature is not without effect, or the comparison says nothing about it.
  const ScoreMap without = run_decoder(checkpoint_, plain_, batch_, options);
  EXPECT_TRUE(largest_difference(without, reference) > 1e-2 ||
              std::abs(without.loss[5] - map.loss[5]) > 1e-2);
  options.compute_type = ComputeType::bf16;
  double high = 0;
  for (const float score : map.scores_heads) {
    if (!std::isnan(score)) high = std::max(high, std::abs(double{score}));
  }
  EXPECT_LT(largest_difference(run_decoder(checkpoint_, spec, batch_, options), reference),
            0.04 * high);
}

INSTANTIATE_TEST_SUITE_P(Decoder, Features, testing::ValuesIn(kFeatures),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(DecoderStage, IsTheLastBeforeTheMask) {
  const TinyCheckpoint checkpoint;
  ModelSpec spec = read_model_spec(checkpoint);
  const TokenBatch batch{3, {1, 2, 3}};
  EXPECT_EQ(run_decoder(checkpoint, spec, batch, {}).stage, Stage::scaled);
  spec.layers[0].attention.softcap = 5;
  EXPECT_EQ(run_decoder(checkpoint, spec, batch, {}).stage, Stage::capped);
  EXPECT_EQ(run_decoder(checkpoint, spec, batch, {.layers = {1}}).stage, Stage::scaled);
  spec.layers[1].attention.alibi = AlibiSpec{};
  EXPECT_EQ(run_decoder(checkpoint, spec, batch, {}).stage, Stage::biased);
}

TEST(DecoderPositions, AreLimitedWhereTheModelHasATableOfThem) {
  const TinyCheckpoint checkpoint;
  ModelSpec spec = read_model_spec(checkpoint);
  spec.position_limit = 4;
  EXPECT_NO_THROW(run_decoder(checkpoint, spec, {4, {1, 2, 3, 4}}, {}));
  spec.first_position = 1;
  EXPECT_THROW(run_decoder(checkpoint, spec, {4, {1, 2, 3, 4}}, {}), UsageError);
}

}  // namespace
}  // namespace poslens
