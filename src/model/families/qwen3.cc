// Qwen3: as Llama, with an RMS norm of each head's query and key.

#include "model/families/families.h"
#include "model/families/parts.h"
#include "model/families/rope.h"

namespace poslens {

ModelSpec read_qwen3(Reader& reader) {
  auto [spec, layers] = read_sizes(reader, "qwen3");
  AttentionSpec attention =
      read_heads(reader, spec.hidden, {.key_value_heads = 32, .head_dim = 128});
  read_rope(reader, {}, attention);
  const NormSpec norm = rms_norm(reader, 1e-6);
  const Activation activation = read_activation(reader, {"hidden_act"}, "silu");
  const int width = read_width(reader);
  const bool bias = reader.flag_or({"attention_bias"}, false);
  for (int number = 0; number < layers; ++number) {
    reader.enter_layer(number);
    LayerSpec& layer = spec.layers.emplace_back();
    layer.attention_norm = reader.norm(norm, {"input_layernorm", "attn_norm"}, {spec.hidden});
    layer.attention = attention;
    read_projections(reader, layer.attention, spec.hidden, bias, bias);
    layer.attention.query_norm =
        reader.norm(norm, {"self_attn.q_norm", "attn_q_norm"}, {attention.head_dim});
    layer.attention.key_norm =
        reader.norm(norm, {"self_attn.k_norm", "attn_k_norm"}, {attention.head_dim});
    layer.feed_forward_norm =
        reader.norm(norm, {"post_attention_layernorm", "ffn_norm"}, {spec.hidden});
    layer.feed_forward = read_gated(reader, spec.hidden, activation, width);
  }
  read_qwen_windows(reader, spec);
  reader.enter_layer(-1);
  spec.final_norm = reader.norm(norm, {"norm", "output_norm"}, {spec.hidden});
  read_head(reader, spec, false);
  return spec;
}

}  // namespace poslens
