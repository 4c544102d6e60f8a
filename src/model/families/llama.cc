// Llama and everything that GGUF files call llama: Llama 2 and 3, SmolLM2, Mistral without window.
// Keys and tensor names as in llama.cpp (gguf-py/gguf/constants.py).

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "model/families/families.h"
#include "model/families/gguf_reader.h"
#include "poslens/error.h"

namespace poslens {
namespace {

constexpr int kMany = 1 << 24;  // no model has an extent beyond

double read_linear_factor(GgufReader& reader) {
  const std::string type = reader.text_or("rope.scaling.type", "none");
  if (type == "none") {
    reader.ignore("rope.scaling.factor");
    return 1;
  }
  if (type == "linear") return reader.number("rope.scaling.factor");
  reader.fail("rope.scaling.type", "none or linear (llama3 scaling comes as rope_freqs.weight)",
              "'" + type + "'");
}

RotarySpec read_rotary(const Checkpoint& checkpoint, GgufReader& reader, int head_dim) {
  RotarySpec rotary;
  rotary.rotary_dim = reader.integer_or("rope.dimension_count", head_dim, 2, head_dim);
  if (rotary.rotary_dim % 2 != 0) {
    reader.fail("rope.dimension_count", "an even number", std::to_string(rotary.rotary_dim));
  }
  rotary.theta = reader.number_or("rope.freq_base", 1e4);
  rotary.linear_factor = read_linear_factor(reader);
  // The context before scaling, and whether the model was trained after it, change nothing here.
  reader.ignore("rope.scaling.original_context_length");
  reader.ignore("rope.scaling.finetuned");
  const std::int64_t pairs = rotary.rotary_dim / 2;
  if (const auto name = reader.tensor_if("rope_freqs.weight", {pairs})) {
    rotary.divisors.resize(static_cast<std::size_t>(pairs));
    expand_rows(checkpoint.require(*name, {pairs}), 0, 1, rotary.divisors);
    for (const float divisor : rotary.divisors) {
      if (divisor > 0 && std::isfinite(divisor)) continue;
      throw Error(fmt::format("{}: tensor rope_freqs.weight: expected numbers above 0, found {}",
                              checkpoint.path().string(), divisor));
    }
  }
  return rotary;
}

AttentionSpec read_attention(const Checkpoint& checkpoint, GgufReader& reader, int hidden) {
  AttentionSpec attention;
  attention.query_heads = reader.integer("attention.head_count", 1, kMany);
  attention.key_value_heads =
      reader.integer_or("attention.head_count_kv", attention.query_heads, 1, kMany);
  if (attention.query_heads % attention.key_value_heads != 0) {
    reader.fail("attention.head_count_kv", fmt::format("a divisor of {}", attention.query_heads),
                std::to_string(attention.key_value_heads));
  }
  const int quotient = hidden / attention.query_heads;
  attention.head_dim = reader.integer_or("attention.key_length", quotient, 1, kMany);
  if (attention.head_dim < 1) {
    reader.fail("attention.head_count", fmt::format("at most {}", hidden),
                std::to_string(attention.query_heads));
  }
  const int value_dim = reader.integer_or("attention.value_length", attention.head_dim, 1, kMany);
  if (value_dim != attention.head_dim) {
    reader.fail("attention.value_length", fmt::format("the key length, {}", attention.head_dim),
                std::to_string(value_dim));
  }
  attention.scale = 1 / std::sqrt(static_cast<double>(attention.head_dim));
  attention.rotary = read_rotary(checkpoint, reader, attention.head_dim);
  // The converter permutes the rows of query and key so that neighbours turn together.
  attention.rotary_pairs = RotaryPairs::interleaved;
  return attention;
}

LayerSpec read_layer(GgufReader& reader, int number, const AttentionSpec& attention, int hidden,
                     int width, double epsilon) {
  const std::string block = fmt::format("blk.{}.", number);
  const std::int64_t queries = std::int64_t{attention.query_heads} * attention.head_dim;
  const std::int64_t keys = std::int64_t{attention.key_value_heads} * attention.head_dim;
  LayerSpec layer;
  const auto norm = [&](const std::string& name) {
    return NormSpec{.kind = NormSpec::Kind::rms,
                    .epsilon = epsilon,
                    .weight = {reader.tensor(block + name, {hidden})}};
  };
  layer.attention_norm = norm("attn_norm.weight");
  layer.attention = attention;
  layer.attention.query = reader.linear(block + "attn_q", queries, hidden);
  layer.attention.key = reader.linear(block + "attn_k", keys, hidden);
  layer.attention.value = reader.linear(block + "attn_v", keys, hidden);
  layer.attention.output = reader.linear(block + "attn_output", hidden, queries);
  layer.feed_forward_norm = norm("ffn_norm.weight");
  layer.feed_forward.width = width;
  layer.feed_forward.gate = reader.linear(block + "ffn_gate", width, hidden);
  layer.feed_forward.up = reader.linear(block + "ffn_up", width, hidden);
  layer.feed_forward.down = reader.linear(block + "ffn_down", hidden, width);
  return layer;
}

// The number of rows of the embedding, which vocab_size repeats when it is there.
int read_vocabulary(const Checkpoint& checkpoint, GgufReader& reader) {
  const TensorEntry* embedding = checkpoint.find("token_embd.weight");
  if (embedding == nullptr || embedding->shape.size() != 2 || embedding->shape[0] > kMany) {
    throw Error(checkpoint.path().string() +
                ": tensor token_embd.weight: expected [vocabulary, hidden], found " +
                (embedding == nullptr ? "no such tensor" : "another shape"));
  }
  const int rows = static_cast<int>(embedding->shape[0]);
  const int stated = reader.integer_or("vocab_size", rows, 1, kMany);
  if (stated != rows) {
    reader.fail("vocab_size", fmt::format("the rows of token_embd.weight, {}", rows),
                std::to_string(stated));
  }
  return rows;
}

// Mixture-of-experts files say how many; none at all is the plain model.
void refuse_experts(GgufReader& reader) {
  for (const char* key : {"expert_count", "expert_used_count"}) {
    reader.integer_or(key, 0, 0, 0);
  }
}

}  // namespace

ModelSpec read_llama(const Checkpoint& checkpoint) {
  GgufReader reader(checkpoint, "llama");
  refuse_experts(reader);
  reader.ignore("tensor_data_layout");
  ModelSpec spec;
  spec.family = "llama";
  spec.name = checkpoint.text_or("general.name", checkpoint.path().stem().string());
  spec.hidden = reader.integer("embedding_length", 1, kMany);
  spec.context_length = reader.integer_or("context_length", 0, 0, 1 << 30);
  const double epsilon = reader.number("attention.layer_norm_rms_epsilon");
  spec.vocabulary = read_vocabulary(checkpoint, reader);
  const std::vector<std::int64_t> matrix = {spec.vocabulary, spec.hidden};
  spec.embedding = reader.tensor("token_embd.weight", matrix);
  spec.final_norm = {.kind = NormSpec::Kind::rms,
                     .epsilon = epsilon,
                     .weight = {reader.tensor("output_norm.weight", {spec.hidden})}};
  spec.head.weight = reader.tensor_if("output.weight", matrix).value_or(spec.embedding);
  const int layers = reader.integer("block_count", 1, 1 << 16);
  const int width = reader.integer("feed_forward_length", 1, kMany);
  const AttentionSpec attention = read_attention(checkpoint, reader, spec.hidden);
  for (int layer = 0; layer < layers; ++layer) {
    spec.layers.push_back(read_layer(reader, layer, attention, spec.hidden, width, epsilon));
  }
  reader.finish();
  return spec;
}

}  // namespace poslens
