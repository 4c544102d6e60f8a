// StarCoder2: LayerNorms, biases throughout, a plain GELU feed-forward, a window on every layer.

#include "model/families/families.h"
#include "model/families/parts.h"
#include "model/families/rope.h"

namespace poslens {

ModelSpec read_starcoder2(Reader& reader) {
  auto [spec, layers] = read_sizes(reader, "starcoder2");
  AttentionSpec attention = read_heads(reader, spec.hidden, {.key_value_heads = 2});
  read_rope(reader, {}, attention);
  attention.mask = window_mask(read_window(reader, 0));
  const NormSpec norm = layer_norm(reader, 1e-5, {"norm_epsilon", "attention.layer_norm_epsilon"});
  const Activation activation = read_activation(reader, {"hidden_act"}, "gelu_pytorch_tanh");
  const int width = read_width(reader);
  const bool bias = reader.flag_or({"use_bias"}, true);
  for (int number = 0; number < layers; ++number) {
    reader.enter_layer(number);
    LayerSpec& layer = spec.layers.emplace_back();
    layer.attention_norm = reader.norm(norm, {"input_layernorm", "attn_norm"}, {spec.hidden}, true);
    layer.attention = attention;
    read_projections(reader, layer.attention, spec.hidden, bias, bias);
    layer.feed_forward_norm =
        reader.norm(norm, {"post_attention_layernorm", "ffn_norm"}, {spec.hidden}, true);
    layer.feed_forward = read_plain(reader, spec.hidden, activation, width, bias,
                                    {"mlp.c_fc", "ffn_up"}, {"mlp.c_proj", "ffn_down"});
  }
  read_ends(reader, spec, norm, {.bias = true, .tied_by_default = true});
  return spec;
}

}  // namespace poslens
