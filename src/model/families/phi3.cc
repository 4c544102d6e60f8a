// Phi-3, 3.5, 4 and 4-mini: as Llama, with query, key and value in one tensor, gate and up in
// another, and longrope over a part of each head.

#include "model/families/families.h"
#include "model/families/parts.h"
#include "model/families/rope.h"

namespace poslens {

ModelSpec read_phi3(Reader& reader) {
  auto [spec, layers] = read_sizes(reader, "phi3");
  AttentionSpec attention = read_heads(reader, spec.hidden);
  read_rope(reader, {.partial = true, .original_positions = 4096, .yarn_is_longrope = true},
            attention);
  attention.mask = window_mask(read_window(reader, 0));
  const NormSpec norm = rms_norm(reader, 1e-5);
  const Activation activation = read_activation(reader, {"hidden_act"}, "silu");
  const int width = read_width(reader);
  const Name gate_up{"mlp.gate_up_proj", "ffn_up"};
  for (int number = 0; number < layers; ++number) {
    reader.enter_layer(number);
    LayerSpec& layer = spec.layers.emplace_back();
    layer.attention_norm = reader.norm(norm, {"input_layernorm", "attn_norm"}, {spec.hidden});
    layer.attention = attention;
    read_fused_projections(reader, layer.attention, spec.hidden, FusedRows::in_turn, false,
                           {"self_attn.qkv_proj", "attn_qkv"}, {"self_attn.o_proj", "attn_output"});
    layer.feed_forward_norm =
        reader.norm(norm, {"post_attention_layernorm", "ffn_norm"}, {spec.hidden});
    const std::int64_t both = 2 * std::int64_t{width};
    layer.feed_forward = {
        width, activation, reader.linear(gate_up, RowMap{.total = both}, spec.hidden, false),
        reader.linear(gate_up, RowMap{.first = width, .total = both}, spec.hidden, false),
        reader.linear({"mlp.down_proj", "ffn_down"}, spec.hidden, width, false)};
  }
  read_ends(reader, spec, norm);
  return spec;
}

}  // namespace poslens
