// Cohere (Command R): attention and feed-forward side by side on one LayerNorm without bias,
// neighbouring coordinates rotate together, logits are scaled.

#include "model/families/families.h"
#include "model/families/parts.h"
#include "model/families/rope.h"

namespace poslens {

ModelSpec read_cohere(Reader& reader) {
  auto [spec, layers] = read_sizes(reader, "cohere");
  AttentionSpec attention = read_heads(reader, spec.hidden);
  read_rope(reader, {.theta = 5e5}, attention);
  attention.rotary_pairs = RotaryPairs::interleaved;
  const NormSpec norm = layer_norm(reader, 1e-5);
  const Activation activation = read_activation(reader, {"hidden_act"}, "silu");
  const int width = read_width(reader);
  const bool bias = reader.flag_or({"attention_bias"}, false);
  const bool head_norms = reader.flag_or({"use_qk_norm"}, false);
  spec.logit_scale = reader.positive_or({"logit_scale", "logit_scale"}, 0.0625);
  for (int number = 0; number < layers; ++number) {
    reader.enter_layer(number);
    LayerSpec& layer = spec.layers.emplace_back();
    layer.residual = Residual::parallel;
    layer.attention_norm = reader.norm(norm, {"input_layernorm", "attn_norm"}, {spec.hidden});
    layer.feed_forward_norm = layer.attention_norm;
    layer.attention = attention;
    read_projections(reader, layer.attention, spec.hidden, bias, bias);
    if (head_norms || reader.has_tensor({"", "attn_q_norm.weight"})) {
      layer.attention.query_norm = reader.norm(norm, {"self_attn.q_norm", "attn_q_norm"},
                                               {attention.query_heads, attention.head_dim});
      layer.attention.key_norm = reader.norm(norm, {"self_attn.k_norm", "attn_k_norm"},
                                             {attention.key_value_heads, attention.head_dim});
    }
    layer.feed_forward = read_gated(reader, spec.hidden, activation, width);
  }
  read_ends(reader, spec, norm, {.tied_by_default = true});
  return spec;
}

}  // namespace poslens
