// Phi-1 and 2: attention and feed-forward side by side on one LayerNorm, biases throughout, a
// partly rotated head.

#include "model/families/families.h"
#include "model/families/parts.h"
#include "model/families/rope.h"

namespace poslens {

ModelSpec read_phi(Reader& reader) {
  auto [spec, layers] = read_sizes(reader, "phi");
  AttentionSpec attention = read_heads(reader, spec.hidden);
  read_rope(reader, {.partial = true, .partial_factor = 0.5}, attention);
  const NormSpec norm = layer_norm(reader, 1e-5);
  const Activation activation = read_activation(reader, {"hidden_act"}, "gelu_new");
  const int width = read_width(reader);
  const bool head_norms = reader.flag_or({"qk_layernorm"}, false);
  const ProjectionNames names{.output = {"self_attn.dense", "attn_output"}};
  for (int number = 0; number < layers; ++number) {
    reader.enter_layer(number);
    LayerSpec& layer = spec.layers.emplace_back();
    layer.residual = Residual::parallel;
    layer.attention_norm = reader.norm(norm, {"input_layernorm", "attn_norm"}, {spec.hidden}, true);
    layer.feed_forward_norm = layer.attention_norm;
    layer.attention = attention;
    if (reader.has_tensor({"", "attn_qkv.weight"})) {
      read_fused_projections(reader, layer.attention, spec.hidden, FusedRows::in_turn, true,
                             {"", "attn_qkv"}, names.output);
    } else {
      read_projections(reader, layer.attention, spec.hidden, true, true, names);
    }
    if (head_norms) {
      const std::vector<std::int64_t> shape = {attention.head_dim};
      layer.attention.query_norm = reader.norm(norm, {"self_attn.q_layernorm"}, shape, true);
      layer.attention.key_norm = reader.norm(norm, {"self_attn.k_layernorm"}, shape, true);
    }
    layer.feed_forward = read_plain(reader, spec.hidden, activation, width, true,
                                    {"mlp.fc1", "ffn_up"}, {"mlp.fc2", "ffn_down"});
  }
  read_ends(reader, spec, norm, {.norm = {"final_layernorm", "output_norm"}, .bias = true});
  const Name bias{"/lm_head.bias", "output.bias"};
  if (!reader.is_gguf() || reader.has_tensor(bias)) {
    spec.head.bias = reader.tensor(bias, {spec.vocabulary});
  }
  return spec;
}

}  // namespace poslens
