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
  const bool bias = reader.flag_or({"attention_bias"}, false);
  const GatedLayer parts{.norm = rms_norm(reader, 1e-6),
                         .activation = read_activation(reader, {"hidden_act"}, "silu"),
                         .width = read_width(reader),
                         .bias = bias,
                         .output_bias = bias};
  for (int number = 0; number < layers; ++number) {
    reader.enter_layer(number);
    LayerSpec& layer =
        spec.layers.emplace_back(read_gated_layer(reader, parts, attention, spec.hidden));
    layer.attention.query_norm =
        reader.norm(parts.norm, {"self_attn.q_norm", "attn_q_norm"}, {attention.head_dim});
    layer.attention.key_norm =
        reader.norm(parts.norm, {"self_attn.k_norm", "attn_k_norm"}, {attention.head_dim});
  }
  read_qwen_windows(reader, spec);
  read_ends(reader, spec, parts.norm);
  return spec;
}

}  // namespace poslens
