#pragma once
// A Llama of three layers with random weights whose tokens are the 256 bytes, so that ids can be
// read off a text.

#include <cmath>
#include <string>
#include <vector>

#include "poslens/random.h"
#include "support/gguf_writer.h"

namespace poslens {

inline constexpr std::uint32_t kTinyVocabulary = 259;  // bytes, one merge, one more, BOS
inline constexpr std::int32_t kTinyBos = 258;

// GPT-2's alphabet: printable bytes as themselves, the others from U+0100 on; as UTF-8.
inline std::vector<std::string> byte_tokens() {
  std::vector<std::string> tokens;
  unsigned next = 256;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool itself = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
    const unsigned code = itself ? byte : next++;
    tokens.push_back(code < 128 ? std::string(1, static_cast<char>(code))
                                : std::string{static_cast<char>(0xc0 | code >> 6),
                                              static_cast<char>(0x80 | (code & 0x3f))});
  }
  return tokens;
}

// pre: name of the pre-tokenizer; empty: the file names none. scale: all widths times that much.
inline GgufWriter tiny_model(const std::string& pre = "gpt-2", std::uint32_t scale = 1,
                             std::uint32_t heads = 2, std::uint32_t key_heads = 1) {
  const std::uint32_t hidden = 16 * scale, width = 24 * scale, head_dim = hidden / heads;
  constexpr int kLayers = 3;
  GgufWriter writer;
  writer.text("general.architecture", "llama");
  writer.text("general.name", "tiny");
  writer.integer("llama.vocab_size", kTinyVocabulary);
  writer.integer("llama.block_count", kLayers);
  writer.integer("llama.context_length", 256);
  writer.integer("llama.embedding_length", hidden);
  writer.integer("llama.feed_forward_length", width);
  writer.integer("llama.attention.head_count", heads);
  writer.integer("llama.attention.head_count_kv", key_heads);
  writer.number("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  writer.number("llama.rope.freq_base", 1e4F);
  writer.integer("llama.rope.dimension_count", head_dim);

  std::vector<std::string> tokens = byte_tokens();
  tokens.insert(tokens.end(), {"qz", "zq", "<s>"});
  std::vector<std::int32_t> types(kTinyVocabulary, 1);
  types[kTinyBos] = 3;  // control
  writer.text("tokenizer.ggml.model", "gpt2");
  if (!pre.empty()) writer.text("tokenizer.ggml.pre", pre);
  writer.texts("tokenizer.ggml.tokens", tokens);
  writer.integers("tokenizer.ggml.token_type", types);
  writer.texts("tokenizer.ggml.merges", {"q z"});
  writer.integer("tokenizer.ggml.bos_token_id", kTinyBos);
  writer.boolean("tokenizer.ggml.add_bos_token", false);

  RandomStream random(20, 9);
  const auto matrix = [&](const std::string& name, std::uint64_t rows, std::uint64_t columns) {
    std::vector<float> values(rows * columns);
    for (float& value : values) {
      value = static_cast<float>(random.normal() / std::sqrt(static_cast<double>(columns)));
    }
    writer.tensor(name, {rows, columns}, values);
  };
  const auto norm = [&](const std::string& name) {
    std::vector<float> values(hidden);
    for (float& value : values) value = static_cast<float>(1 + 0.3 * random.normal());
    writer.tensor(name, {hidden}, values);
  };
  matrix("token_embd.weight", kTinyVocabulary, hidden);
  for (int layer = 0; layer < kLayers; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + '.';
    norm(block + "attn_norm.weight");
    matrix(block + "attn_q.weight", heads * head_dim, hidden);
    matrix(block + "attn_k.weight", key_heads * head_dim, hidden);
    matrix(block + "attn_v.weight", key_heads * head_dim, hidden);
    matrix(block + "attn_output.weight", hidden, heads * head_dim);
    norm(block + "ffn_norm.weight");
    matrix(block + "ffn_gate.weight", width, hidden);
    matrix(block + "ffn_up.weight", width, hidden);
    matrix(block + "ffn_down.weight", hidden, width);
  }
  norm("output_norm.weight");
  return writer;
}

}  // namespace poslens
