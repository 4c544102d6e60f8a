// OLMo 1, 2 and 3. 1: as Llama with norms that have no weights, and projections that are cut. 2:
// norms after each part, and of the whole query and key. 3: most layers slide.

#include "model/families/families.h"
#include "model/families/parts.h"
#include "model/families/rope.h"

namespace poslens {

ModelSpec read_olmo(Reader& reader) {
  auto [spec, layers] = read_sizes(reader, "olmo");
  AttentionSpec attention = read_heads(reader, spec.hidden);
  attention.clip = reader.positive_or_none({"clip_qkv", "attention.clamp_kqv"}, 0);
  read_rope(reader, {}, attention);
  if (reader.is_gguf()) attention.rotary_pairs = RotaryPairs::interleaved;  // permuted, as llama
  const NormSpec norm = layer_norm(reader, 1e-5, {"", "attention.layer_norm_epsilon"});
  const Activation activation = read_activation(reader, {"hidden_act"}, "silu");
  const int width = read_width(reader);
  const bool bias = reader.flag_or({"attention_bias"}, false);
  for (int number = 0; number < layers; ++number) {
    reader.enter_layer(number);
    LayerSpec& layer = spec.layers.emplace_back();
    layer.attention_norm = layer.feed_forward_norm = norm;
    layer.attention = attention;
    read_projections(reader, layer.attention, spec.hidden, bias, bias);
    layer.feed_forward = read_gated(reader, spec.hidden, activation, width);
  }
  spec.final_norm = norm;
  read_head(reader, spec, false);
  return spec;
}

namespace {

std::vector<bool> every_fourth_is_full(Reader& reader, int layers) {
  return sliding_layers(reader, layers, [](int layer) { return (layer + 1) % 4 != 0; });
}

// OLMo 2 and 3, once it is known how the layers attend.
ModelSpec read_post_norm(Reader& reader, Sizes& sizes,
                         const std::function<const AttentionSpec&(int layer)>& attention_of) {
  ModelSpec& spec = sizes.spec;
  const NormSpec norm = rms_norm(reader, 1e-5);
  const Activation activation = read_activation(reader, {"hidden_act"}, "silu");
  const int width = read_width(reader);
  const bool bias = reader.flag_or({"attention_bias"}, false);
  for (int number = 0; number < sizes.layers; ++number) {
    reader.enter_layer(number);
    LayerSpec& layer = spec.layers.emplace_back();
    AttentionSpec& attention = layer.attention = attention_of(number);
    const std::int64_t queries = std::int64_t{attention.query_heads} * attention.head_dim;
    const std::int64_t keys = std::int64_t{attention.key_value_heads} * attention.head_dim;
    read_projections(reader, attention, spec.hidden, bias, bias);
    attention.query_norm = reader.norm(norm, {"self_attn.q_norm", "attn_q_norm"}, {queries});
    attention.key_norm = reader.norm(norm, {"self_attn.k_norm", "attn_k_norm"}, {keys});
    attention.norm_spans_heads = true;
    layer.attention_output_norm =
        reader.norm(norm, {"post_attention_layernorm", "post_attention_norm"}, {spec.hidden});
    layer.feed_forward = read_gated(reader, spec.hidden, activation, width);
    layer.feed_forward_output_norm =
        reader.norm(norm, {"post_feedforward_layernorm", "post_ffw_norm"}, {spec.hidden});
  }
  read_ends(reader, spec, norm);
  return spec;
}

}  // namespace

// GGUF files of OLMo 3 are olmo2 with a window: every fourth layer is full, and it alone has its
// rotary encoding scaled.
ModelSpec read_olmo2(Reader& reader) {
  Sizes sizes = read_sizes(reader, "olmo2");
  AttentionSpec full = read_heads(reader, sizes.spec.hidden);
  read_rope(reader, {}, full);
  AttentionSpec local = full;
  const int window = reader.is_gguf() ? read_window(reader, 0) : 0;
  if (window != 0) {
    local.rope_scaling = {};
    local.mask = window_mask(window);
  }
  const auto slides = every_fourth_is_full(reader, sizes.layers);
  return read_post_norm(reader, sizes, [&](int layer) -> const AttentionSpec& {
    return slides[static_cast<std::size_t>(layer)] ? local : full;
  });
}

ModelSpec read_olmo3(Reader& reader) {
  Sizes sizes = read_sizes(reader, "olmo3");
  AttentionSpec full = read_heads(reader, sizes.spec.hidden);
  AttentionSpec local = full;
  read_layer_rope(reader, {.theta = 5e5}, true, full);
  // rope_theta beside the dicts is the full layers'.
  read_layer_rope(reader, {.theta = 5e5, .theta_key = {""}}, false, local);
  local.mask = window_mask(read_window(reader, 4096));
  const auto slides = every_fourth_is_full(reader, sizes.layers);
  return read_post_norm(reader, sizes, [&](int layer) -> const AttentionSpec& {
    return slides[static_cast<std::size_t>(layer)] ? local : full;
  });
}

}  // namespace poslens
