// Llama, and what differs from it only in a window or in biases: Mistral, Qwen2. GGUF files call
// Mistral without a window llama too.

#include "model/families/families.h"
#include "model/families/parts.h"
#include "model/families/rope.h"

namespace poslens {
namespace {

struct Biases {
  bool query_key_value = false;
  bool output = false;
  bool feed_forward = false;
};

// Pre-norm RMS, gated feed-forward; the masks are left to the caller.
ModelSpec read(Reader& reader, const AttentionSpec& attention, Sizes& sizes, const Biases& biases) {
  ModelSpec& spec = sizes.spec;
  const NormSpec norm = rms_norm(reader, 1e-6);
  const Activation activation = read_activation(reader, {"hidden_act"}, "silu");
  const int width = read_width(reader);
  for (int number = 0; number < sizes.layers; ++number) {
    reader.enter_layer(number);
    LayerSpec& layer = spec.layers.emplace_back();
    layer.attention_norm = reader.norm(norm, {"input_layernorm", "attn_norm"}, {spec.hidden});
    layer.attention = attention;
    read_projections(reader, layer.attention, spec.hidden, biases.query_key_value, biases.output);
    layer.feed_forward_norm =
        reader.norm(norm, {"post_attention_layernorm", "ffn_norm"}, {spec.hidden});
    layer.feed_forward = read_gated(reader, spec.hidden, activation, width, biases.feed_forward);
  }
  reader.enter_layer(-1);
  spec.final_norm = reader.norm(norm, {"norm", "output_norm"}, {spec.hidden});
  read_head(reader, spec, false);
  return spec;
}

}  // namespace

ModelSpec read_llama(Reader& reader) {
  Sizes sizes = read_sizes(reader, "llama");
  AttentionSpec attention = read_heads(reader, sizes.spec.hidden);
  read_rope(reader, {}, attention);
  // The converter to GGUF permutes the rows of query and key so that neighbours turn together.
  if (reader.is_gguf()) attention.rotary_pairs = RotaryPairs::interleaved;
  const bool bias = reader.flag_or({"attention_bias"}, false);
  return read(reader, attention, sizes, {bias, bias, reader.flag_or({"mlp_bias"}, false)});
}

ModelSpec read_mistral(Reader& reader) {
  Sizes sizes = read_sizes(reader, "mistral");
  AttentionSpec attention = read_heads(reader, sizes.spec.hidden, {.key_value_heads = 8});
  read_rope(reader, {}, attention);
  attention.mask = window_mask(read_window(reader, 4096));
  return read(reader, attention, sizes, {});
}

ModelSpec read_qwen2(Reader& reader) {
  Sizes sizes = read_sizes(reader, "qwen2");
  AttentionSpec attention = read_heads(reader, sizes.spec.hidden, {.key_value_heads = 32});
  read_rope(reader, {}, attention);
  ModelSpec spec = read(reader, attention, sizes, {.query_key_value = true});
  read_qwen_windows(reader, spec);
  return spec;
}

void read_qwen_windows(Reader& reader, ModelSpec& spec) {
  if (!reader.flag_or({"use_sliding_window"}, false)) return;
  const int window = read_window(reader, 4096);
  const int first = reader.integer_or({"max_window_layers"}, 28, 0, kMany);
  const auto slides = sliding_layers(reader, static_cast<int>(spec.layers.size()),
                                     [&](int layer) { return layer >= first; });
  for (std::size_t layer = 0; layer < slides.size(); ++layer) {
    if (slides[layer]) spec.layers[layer].attention.mask = window_mask(window);
  }
}

}  // namespace poslens
