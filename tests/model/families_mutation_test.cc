// Each fixture notices when a convention of its family is wrong: flips one thing in the ModelSpec
// that was read from it, as a wrong reader would, and expects the comparison with transformers to
// fail. README.md beside this file says which family has which.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "model/golden_fixture.h"
#include "poslens/error.h"

namespace poslens {
namespace {

using Kind = NormSpec::Kind;

// change: whether the spec has the convention, after flipping it.
struct Flip {
  const char* name;
  std::function<bool(ModelSpec&)> change;
};

// Flips where `has` holds, in every layer.
Flip in_layers(const char* name, std::function<bool(const LayerSpec&)> has,
               std::function<void(LayerSpec&)> flip) {
  return {name, [has = std::move(has), flip = std::move(flip)](ModelSpec& spec) {
            bool any = false;
            for (LayerSpec& layer : spec.layers) {
              if (!has(layer)) continue;
              flip(layer);
              any = true;
            }
            return any;
          }};
}

// The same for what it has in its attention.
Flip in_attention(const char* name, const std::function<bool(const AttentionSpec&)>& has,
                  const std::function<void(AttentionSpec&)>& flip) {
  return in_layers(
      name, [has](const LayerSpec& layer) { return has(layer.attention); },
      [flip](LayerSpec& layer) { flip(layer.attention); });
}

// The same for a scaling of the rotary encoding.
Flip in_scaling(const char* name, const std::function<bool(const RopeScaling&)>& has,
                const std::function<void(RopeScaling&)>& flip) {
  return in_attention(
      name,
      [has](const AttentionSpec& attention) {
        return attention.rotary && has(attention.rope_scaling);
      },
      [flip](AttentionSpec& attention) { flip(attention.rope_scaling); });
}

bool is_there(const NormSpec& norm) { return norm.kind != Kind::none; }
bool scales(const RopeScaling& scaling) { return scaling.kind != RopeScaling::Kind::none; }
auto is(RopeScaling::Kind kind) {
  return [kind](const RopeScaling& scaling) { return scaling.kind == kind; };
}
bool has_weights(const NormSpec& norm) { return !norm.weight.empty(); }

const Flip kFlips[] = {
    // Norms.
    in_layers(
        "RMS and layer norm exchanged",
        [](const LayerSpec& layer) { return is_there(layer.attention_norm); },
        [](LayerSpec& layer) {
          Kind& kind = layer.attention_norm.kind;
          kind = kind == Kind::rms ? Kind::layer : Kind::rms;
        }),
    in_layers(
        "weights of a norm without the one that is added, or with one too many",
        [](const LayerSpec& layer) {
          return has_weights(layer.attention_norm) || has_weights(layer.attention_output_norm);
        },
        [](LayerSpec& layer) {
          layer.attention_norm.adds_one = !layer.attention_norm.adds_one;
          layer.attention_output_norm.adds_one = !layer.attention_output_norm.adds_one;
        }),
    in_layers(
        "bias of a norm dropped",
        [](const LayerSpec& layer) { return !layer.attention_norm.bias.empty(); },
        [](LayerSpec& layer) { layer.attention_norm.bias.clear(); }),
    in_layers(
        "epsilon of the norms ten times as large",
        [](const LayerSpec& layer) {
          return layer.attention_norm.epsilon >= 1e-2 ||
                 layer.attention_output_norm.epsilon >= 1e-2;
        },
        [](LayerSpec& layer) {
          layer.attention_norm.epsilon *= 10;
          layer.attention_output_norm.epsilon *= 10;
        }),
    in_layers(
        "norm of one part in the place of the other's",
        [](const LayerSpec& layer) {
          return has_weights(layer.attention_norm) && has_weights(layer.feed_forward_norm) &&
                 layer.attention_norm.weight != layer.feed_forward_norm.weight;
        },
        [](LayerSpec& layer) { std::swap(layer.attention_norm, layer.feed_forward_norm); }),
    in_layers(
        "norm after a part moved before it",
        [](const LayerSpec& layer) {
          return is_there(layer.attention_output_norm) && !is_there(layer.attention_norm);
        },
        [](LayerSpec& layer) {
          std::swap(layer.attention_norm, layer.attention_output_norm);
          std::swap(layer.feed_forward_norm, layer.feed_forward_output_norm);
        }),
    in_layers(
        "norms after the parts dropped",
        [](const LayerSpec& layer) { return is_there(layer.attention_output_norm); },
        [](LayerSpec& layer) { layer.attention_output_norm = {}; }),
    {"final norm dropped",
     [](ModelSpec& spec) {
       spec.final_norm = {};
       return true;
     }},
    // How the parts join.
    in_layers(
        "sequential and parallel blocks exchanged",
        [](const LayerSpec& layer) { return layer.residual != Residual::from_norm; },
        [](LayerSpec& layer) {
          layer.residual =
              layer.residual == Residual::parallel ? Residual::sequential : Residual::parallel;
        }),
    in_layers(
        "residual from the normed input taken from the input",
        [](const LayerSpec& layer) { return layer.residual == Residual::from_norm; },
        [](LayerSpec& layer) { layer.residual = Residual::sequential; }),
    // Projections.
    in_attention(
        "bias of query, key and value dropped",
        [](const AttentionSpec& attention) { return !attention.query.bias.empty(); },
        [](AttentionSpec& attention) {
          attention.query.bias.clear();
          attention.key.bias.clear();
          attention.value.bias.clear();
        }),
    in_attention(
        "bias of the output projection dropped",
        [](const AttentionSpec& attention) { return !attention.output.bias.empty(); },
        [](AttentionSpec& attention) { attention.output.bias.clear(); }),
    in_layers(
        "biases of the feed-forward dropped",
        [](const LayerSpec& layer) { return !layer.feed_forward.up.bias.empty(); },
        [](LayerSpec& layer) {
          layer.feed_forward.gate.bias.clear();
          layer.feed_forward.up.bias.clear();
          layer.feed_forward.down.bias.clear();
        }),
    in_attention(
        "rows of a fused tensor read in turn, not head by head or group by group",
        [](const AttentionSpec& attention) { return attention.query.rows.block != 0; },
        [](AttentionSpec& attention) {
          const std::int64_t heads = attention.query_heads;
          const std::int64_t d = attention.head_dim;
          const std::int64_t total = attention.query.rows.total;
          attention.query.rows = {.first = 0, .total = total};
          attention.key.rows = {.first = heads * d, .total = total};
          attention.value.rows = {.first = (heads + attention.key_value_heads) * d, .total = total};
        }),
    in_attention(
        "key and value exchanged in a fused tensor",
        [](const AttentionSpec& attention) { return attention.query.rows.total != 0; },
        [](AttentionSpec& attention) { std::swap(attention.key.rows, attention.value.rows); }),
    in_attention(
        "matrix stored as [inputs, outputs] read as [outputs, inputs]",
        [](const AttentionSpec& attention) { return attention.output.transposed; },
        [](AttentionSpec& attention) { attention.output.transposed = false; }),
    in_attention(
        "query, key and value not cut",
        [](const AttentionSpec& attention) { return attention.clip != 0; },
        [](AttentionSpec& attention) { attention.clip = 0; }),
    in_attention(
        "norms of query and key dropped",
        [](const AttentionSpec& attention) { return is_there(attention.query_norm); },
        [](AttentionSpec& attention) { attention.query_norm = attention.key_norm = {}; }),
    in_attention(
        "norm of the query in the place of the key's",
        [](const AttentionSpec& attention) {
          return is_there(attention.query_norm) &&
                 (attention.query_heads == attention.key_value_heads ||
                  (!attention.norm_spans_heads && attention.query_norm.weight.size() == 1 &&
                   attention.query_norm.kind == Kind::rms));
        },
        [](AttentionSpec& attention) { std::swap(attention.query_norm, attention.key_norm); }),
    in_attention(
        "norm of query and key over the whole projection taken per head",
        [](const AttentionSpec& attention) { return attention.norm_spans_heads; },
        [](AttentionSpec& attention) { attention.norm_spans_heads = false; }),
    // Scores.
    in_attention(
        "score scale of the head size where another is asked for, or twice that",
        [](const AttentionSpec&) { return true; },
        [](AttentionSpec& attention) {
          const double usual = 1 / std::sqrt(static_cast<double>(attention.head_dim));
          attention.scale = std::abs(attention.scale - usual) > 1e-9 ? usual : 2 * usual;
        }),
    in_attention(
        "softcap of scores dropped",
        [](const AttentionSpec& attention) { return attention.softcap != 0; },
        [](AttentionSpec& attention) { attention.softcap = 0; }),
    // Positions.
    in_attention(
        "rotary pairs (k, k + d/2) and (2k, 2k + 1) exchanged",
        [](const AttentionSpec& attention) {
          return attention.rotary && attention.rotary->rotary_dim > 2;
        },
        [](AttentionSpec& attention) {
          attention.rotary_pairs = attention.rotary_pairs == RotaryPairs::halves
                                       ? RotaryPairs::interleaved
                                       : RotaryPairs::halves;
        }),
    in_attention(
        "theta at 1e4, or at 1e5 where it is that",
        [](const AttentionSpec& attention) {
          return attention.rotary && attention.rotary->rotary_dim > 2;
        },
        [](AttentionSpec& attention) {
          attention.rotary->theta = attention.rotary->theta == 1e4 ? 1e5 : 1e4;
        }),
    in_attention(
        "whole heads rotated where a part is",
        [](const AttentionSpec& attention) {
          return attention.rotary && attention.rotary->rotary_dim < attention.head_dim &&
                 attention.rope_scaling.kind != RopeScaling::Kind::longrope;
        },
        [](AttentionSpec& attention) { attention.rotary->rotary_dim = attention.head_dim; }),
    {"layers without rotation rotated",
     [](ModelSpec& spec) {
       const AttentionSpec* rotates = nullptr;
       for (const LayerSpec& layer : spec.layers) {
         if (layer.attention.rotary) rotates = &layer.attention;
       }
       if (rotates == nullptr) return false;
       const RotarySpec rotary = *rotates->rotary;
       const RopeScaling scaling = rotates->rope_scaling;
       bool any = false;
       for (LayerSpec& layer : spec.layers) {
         if (layer.attention.rotary) continue;
         layer.attention.rotary = rotary;
         layer.attention.rope_scaling = scaling;
         any = true;
       }
       return any;
     }},
    {"one rotary encoding for layers with different ones",
     [](ModelSpec& spec) {
       bool any = false;
       const AttentionSpec first = spec.layers.front().attention;
       for (LayerSpec& layer : spec.layers) {
         AttentionSpec& attention = layer.attention;
         if (!first.rotary || !attention.rotary) continue;
         any = any || attention.rotary != first.rotary ||
               attention.rope_scaling != first.rope_scaling;
         attention.rotary = first.rotary;
         attention.rope_scaling = first.rope_scaling;
       }
       return any;
     }},
    in_scaling("scaling of the rotary encoding dropped", scales,
               [](RopeScaling& scaling) { scaling = {}; }),
    in_scaling(
        "factor of the scaling halved",
        [](const RopeScaling& scaling) {
          // longrope's is in its lists, its attention factor stated.
          return scales(scaling) && scaling.kind != RopeScaling::Kind::longrope;
        },
        [](RopeScaling& scaling) { scaling.factor /= 2; }),
    in_scaling(
        "original length doubled",
        [](const RopeScaling& scaling) {
          return scaling.original != 0 && scaling.kind != RopeScaling::Kind::longrope;
        },
        [](RopeScaling& scaling) { scaling.original *= 2; }),
    in_scaling("frequency factors of llama3 at 1 and 4", is(RopeScaling::Kind::llama3),
               [](RopeScaling& scaling) {
                 scaling.low_frequency = 1;
                 scaling.high_frequency = 4;
               }),
    in_scaling(
        "betas of yarn at 32 and 1",
        [](const RopeScaling& scaling) {
          return scaling.kind == RopeScaling::Kind::yarn && scaling.beta_fast != 32;
        },
        [](RopeScaling& scaling) {
          scaling.beta_fast = 32;
          scaling.beta_slow = 1;
        }),
    in_scaling(
        "pairs of yarn rounded where they should not be",
        [](const RopeScaling& scaling) { return !scaling.truncate; },
        [](RopeScaling& scaling) { scaling.truncate = true; }),
    in_scaling(
        "attention factor by the formula where it is given",
        [](const RopeScaling& scaling) { return scaling.attention_factor.has_value(); },
        [](RopeScaling& scaling) { scaling.attention_factor.reset(); }),
    in_scaling(
        "attention factor of 1",
        [](const RopeScaling& scaling) {
          return scaling.kind == RopeScaling::Kind::yarn ||
                 scaling.kind == RopeScaling::Kind::longrope;
        },
        [](RopeScaling& scaling) { scaling.attention_factor = 1; }),
    in_scaling(
        "short and long list of longrope exchanged", is(RopeScaling::Kind::longrope),
        [](RopeScaling& scaling) { std::swap(scaling.short_factors, scaling.long_factors); }),
    in_attention(
        "ALiBi dropped", [](const AttentionSpec& attention) { return attention.alibi.has_value(); },
        [](AttentionSpec& attention) { attention.alibi.reset(); }),
    in_attention(
        "ALiBi counted from the first key, or from the last",
        [](const AttentionSpec& attention) { return attention.alibi.has_value(); },
        [](AttentionSpec& attention) {
          attention.alibi->counts_from_end = !attention.alibi->counts_from_end;
        }),
    in_attention(
        "ALiBi not scaled with the scores",
        [](const AttentionSpec& attention) {
          return attention.alibi && attention.alibi->factor != 1;
        },
        [](AttentionSpec& attention) { attention.alibi->factor = 1; }),
    in_attention(
        "ALiBi not rounded to bf16",
        [](const AttentionSpec& attention) {
          return attention.alibi && attention.alibi->rounds_to_bf16;
        },
        [](AttentionSpec& attention) { attention.alibi->rounds_to_bf16 = false; }),
    {"learned positions dropped",
     [](ModelSpec& spec) {
       const bool learned = !spec.learned_positions.empty();
       spec.learned_positions.clear();
       return learned;
     }},
    in_attention(
        "windows one key wider",
        [](const AttentionSpec& attention) { return attention.mask.kind == Mask::Kind::window; },
        [](AttentionSpec& attention) { ++attention.mask.size; }),
    {"windows on the other layers",
     [](ModelSpec& spec) {
       Mask window;
       bool full = false;
       for (const LayerSpec& layer : spec.layers) {
         const Mask& mask = layer.attention.mask;
         (mask.kind == Mask::Kind::window) ? void(window = mask) : void(full = true);
       }
       if (window.size == 0 || !full) return false;
       for (LayerSpec& layer : spec.layers) {
         Mask& mask = layer.attention.mask;
         mask = mask.kind == Mask::Kind::window ? Mask{} : window;
       }
       return true;
     }},
    // Embedding, feed-forward, head.
    {"embedding not scaled",
     [](ModelSpec& spec) {
       const bool scaled = spec.embedding_scale != 1;
       spec.embedding_scale = 1;
       return scaled;
     }},
    {"norm of the embedding dropped",
     [](ModelSpec& spec) {
       const bool normed = is_there(spec.embedding_norm);
       spec.embedding_norm = {};
       return normed;
     }},
    in_layers(
        "gate and up exchanged", [](const LayerSpec& layer) { return layer.feed_forward.gated(); },
        [](LayerSpec& layer) { std::swap(layer.feed_forward.gate, layer.feed_forward.up); }),
    in_layers(
        "gelu and its tanh form exchanged, or gelu in the place of silu",
        [](const LayerSpec&) { return true; },
        [](LayerSpec& layer) {
          Activation& activation = layer.feed_forward.activation;
          activation = activation == Activation::gelu ? Activation::gelu_tanh : Activation::gelu;
        }),
    {"head taken as tied, or another matrix",
     [](ModelSpec& spec) {
       const bool own = spec.head.weight != spec.embedding;
       spec.head.weight = spec.embedding;
       return own;
     }},
    {"bias of the head dropped",
     [](ModelSpec& spec) {
       const bool there = !spec.head.bias.empty();
       spec.head.bias.clear();
       return there;
     }},
    {"logits not scaled",
     [](ModelSpec& spec) {
       const bool scaled = spec.logit_scale != 1;
       spec.logit_scale = 1;
       return scaled;
     }},
    {"logits not capped",
     [](ModelSpec& spec) {
       const bool capped = spec.logit_softcap != 0;
       spec.logit_softcap = 0;
       return capped;
     }},
};

class FamiliesMutation : public testing::TestWithParam<std::string> {};

TEST_P(FamiliesMutation, IsNoticed) {
  const GoldenFixture golden(GetParam());
  int flipped = 0;
  for (const Flip& flip : kFlips) {
    ModelSpec spec = golden.spec();
    if (!flip.change(spec)) continue;
    ++flipped;
    const ScoreMap map = run_decoder(golden.checkpoint(), spec, golden.batch(), {});
    const double deviation = golden.deviation(map, "plain", golden.spec());
    EXPECT_FALSE(deviation < 1e-4) << flip.name << ": only " << deviation;
  }
  EXPECT_GE(flipped, 8);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, FamiliesMutation, testing::ValuesIn(GoldenFixture::names()),
                         [](const auto& tested) { return tested.param; });

// No flip is there in vain.
TEST(Flips, AreEachInSomeFixture) {
  std::set<std::string> left;
  for (const Flip& flip : kFlips) left.insert(flip.name);
  for (const std::string& name : GoldenFixture::names()) {
    const GoldenFixture golden(name);
    for (const Flip& flip : kFlips) {
      ModelSpec spec = golden.spec();
      if (flip.change(spec)) left.erase(flip.name);
    }
  }
  EXPECT_TRUE(left.empty()) << *left.begin();
}

}  // namespace
}  // namespace poslens
