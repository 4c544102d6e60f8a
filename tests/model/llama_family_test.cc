// What is read from a Llama file, and what is refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/tiny_checkpoint.h"
#include "poslens/error.h"
#include "poslens/model_spec.h"

namespace poslens {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(const TinyCheckpoint& checkpoint) {
  try {
    read_model_spec(checkpoint);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// The refusal of a file whose key has another value.
std::string refusal_with(const std::string& key, MetadataValue value) {
  TinyCheckpoint checkpoint;
  checkpoint.set(key, std::move(value));
  return refusal(checkpoint);
}

TEST(LlamaFamily, ReadsWhatTheFileSays) {
  TinyCheckpoint checkpoint({.head_dim = 10});
  checkpoint.set("general.name", std::string("Tiny"));
  checkpoint.set("llama.context_length", std::int64_t{64});
  checkpoint.set("llama.rope.dimension_count", std::int64_t{6});
  checkpoint.set("llama.rope.scaling.type", std::string("linear"));
  checkpoint.set("llama.rope.scaling.factor", 4.0);
  checkpoint.set("llama.vocab_size", std::int64_t{37});
  checkpoint.set("llama.expert_count", std::int64_t{0});
  checkpoint.add("rope_freqs.weight", {3});
  checkpoint.values("rope_freqs.weight") = {1, 2, 8};
  checkpoint.add("blk.1.attn_k.bias", {20});
  const ModelSpec spec = read_model_spec(checkpoint);
  EXPECT_EQ(spec.name, "Tiny");
  EXPECT_EQ(spec.context_length, 64);
  EXPECT_EQ(spec.vocabulary, 37);
  EXPECT_EQ(spec.head.weight, "output.weight");
  ASSERT_EQ(spec.layers.size(), 2u);
  const AttentionSpec& attention = spec.layers[1].attention;
  EXPECT_EQ(attention.head_dim, 10);  // not hidden / heads, 6
  EXPECT_DOUBLE_EQ(attention.scale, 1 / std::sqrt(10.0));
  EXPECT_EQ(attention.rotary_pairs, RotaryPairs::interleaved);
  EXPECT_EQ(*attention.rotary, (RotarySpec{.theta = 500, .rotary_dim = 6, .divisors = {1, 2, 8}}));
  EXPECT_EQ(attention.rope_scaling, RopeScaling::parse("linear:4"));
  EXPECT_EQ(attention.mask, Mask{});
  EXPECT_EQ(attention.key.weight, "blk.1.attn_k.weight");
  EXPECT_EQ(attention.key.bias, "blk.1.attn_k.bias");
  EXPECT_EQ(attention.query.bias, "");
  EXPECT_THAT(describe(spec),
              AllOf(HasSubstr("name: Tiny"), HasSubstr("64 tokens; longer sequences run"),
                    HasSubstr("layers 0 to 1: RoPE: theta 500, 6 of 10 coordinates, pairs (2k, 2k "
                              "+ 1), frequencies divided as rope_freqs.weight says, scaling "
                              "linear:4"),
                    HasSubstr("mask: causal")));
}

TEST(LlamaFamily, DefaultsForWhatTheFileLeavesOut) {
  TinyCheckpoint checkpoint({.query_heads = 3, .key_value_heads = 3, .head_dim = 8});
  for (const char* key : {"llama.attention.head_count_kv", "llama.attention.key_length",
                          "llama.attention.value_length", "llama.rope.freq_base"}) {
    checkpoint.erase(key);
  }
  checkpoint.remove("output.weight");
  const ModelSpec spec = read_model_spec(checkpoint);
  const AttentionSpec& attention = spec.layers[0].attention;
  EXPECT_EQ(attention.key_value_heads, 3);
  EXPECT_EQ(attention.head_dim, 8);
  EXPECT_EQ(attention.rotary->theta, 1e4);
  EXPECT_EQ(attention.rotary->rotary_dim, 8);
  EXPECT_EQ(spec.head.weight, "token_embd.weight");
  EXPECT_EQ(spec.context_length, 0);
}

TEST(LlamaFamily, RefusesOtherArchitectures) {
  EXPECT_THAT(refusal_with("general.architecture", std::string("mamba")),
              AllOf(HasSubstr("expected one of: llama"), HasSubstr("found 'mamba'")));
}

TEST(LlamaFamily, RefusesFeaturesItDoesNotKnow) {
  EXPECT_THAT(refusal_with("llama.attention.sliding_window", std::int64_t{128}),
              HasSubstr("llama.attention.sliding_window: this feature"));
  EXPECT_THAT(refusal_with("llama.expert_count", std::int64_t{8}),
              HasSubstr("llama.expert_count: expected 0 to 0, found 8"));
  EXPECT_THAT(refusal_with("llama.rope.scaling.type", std::string("ntk")),
              AllOf(HasSubstr("expected none, linear, yarn"), HasSubstr("found 'ntk'")));
  EXPECT_THAT(refusal_with("llama.rope.scaling.attn_factor", 1.2), HasSubstr("attn_factor"));
}

TEST(LlamaFamily, RefusesImpossibleNumbers) {
  EXPECT_THAT(refusal_with("llama.attention.head_count_kv", std::int64_t{3}),
              HasSubstr("expected a divisor of 4, found 3"));
  EXPECT_THAT(refusal_with("llama.attention.head_count", std::int64_t{0}), HasSubstr("found 0"));
  EXPECT_THAT(refusal_with("llama.attention.value_length", std::int64_t{9}),
              HasSubstr("expected the key length, 8, found 9"));
  EXPECT_THAT(refusal_with("llama.rope.dimension_count", std::int64_t{5}),
              HasSubstr("an even rotary dimension from 2 to 8, found 5"));
  EXPECT_THAT(refusal_with("llama.rope.dimension_count", std::int64_t{12}),
              HasSubstr("an even rotary dimension from 2 to 8, found 12"));
  EXPECT_THAT(refusal_with("llama.rope.freq_base", -1.0), HasSubstr("a number above 0"));
  EXPECT_THAT(refusal_with("llama.attention.layer_norm_rms_epsilon", std::nan("")),
              HasSubstr("a number above 0"));
  EXPECT_THAT(refusal_with("llama.vocab_size", std::int64_t{36}),
              HasSubstr("the rows of token_embd.weight, 37, found 36"));
  EXPECT_THAT(refusal_with("llama.embedding_length", std::int64_t{1} << 40),
              HasSubstr("llama.embedding_length"));
  EXPECT_THAT(refusal_with("llama.block_count", std::int64_t{60000}), HasSubstr("blk.1024."));
}

TEST(LlamaFamily, RefusesFilesWithOtherTensors) {
  TinyCheckpoint missing;
  missing.remove("blk.1.ffn_up.weight");
  EXPECT_THAT(refusal(missing), HasSubstr("blk.1.ffn_up.weight"));

  TinyCheckpoint shape;
  shape.add("blk.0.attn_k.weight", {24, 24});
  EXPECT_THAT(refusal(shape),
              AllOf(HasSubstr("blk.0.attn_k.weight"), HasSubstr("16"), HasSubstr("24")));

  TinyCheckpoint norm;
  norm.add("output_norm.weight", {23});
  EXPECT_THAT(refusal(norm), AllOf(HasSubstr("output_norm.weight"), HasSubstr("23")));

  TinyCheckpoint bias;
  bias.add("blk.0.ffn_down.bias", {40});
  EXPECT_THAT(refusal(bias), HasSubstr("blk.0.ffn_down.bias"));

  TinyCheckpoint extra;
  extra.add("blk.0.ffn_gate_exps.weight", {2, 40, 24});
  EXPECT_THAT(refusal(extra), HasSubstr("blk.0.ffn_gate_exps.weight: not a part of"));

  TinyCheckpoint fewer_layers;
  fewer_layers.set("llama.block_count", std::int64_t{1});
  EXPECT_THAT(refusal(fewer_layers), HasSubstr("blk.1."));

  TinyCheckpoint embedding;
  embedding.remove("token_embd.weight");
  EXPECT_THAT(refusal(embedding), HasSubstr("token_embd.weight"));

  TinyCheckpoint divisors;
  divisors.add("rope_freqs.weight", {4});
  divisors.values("rope_freqs.weight")[2] = 0;
  EXPECT_THAT(refusal(divisors), HasSubstr("rope_freqs.weight: expected numbers above 0, found 0"));
}

}  // namespace
}  // namespace poslens
