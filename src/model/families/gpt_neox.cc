// GPT-NeoX, Pythia: LayerNorms, query, key and value of each head in turn in one tensor, attention
// and feed-forward side by side on a norm each, or one after the other.

#include "model/families/families.h"
#include "model/families/parts.h"
#include "model/families/rope.h"

namespace poslens {

ModelSpec read_gpt_neox(Reader& reader) {
  auto [spec, layers] = read_sizes(
      reader, "gpt_neox",
      {.embedding = {"embed_in.weight", "token_embd.weight"}, .bases = {"gpt_neox.", ""}});
  reader.ignore_tensors_ending(".attention.bias");  // masks
  reader.ignore_tensors_ending(".attention.masked_bias");
  AttentionSpec attention = read_heads(reader, spec.hidden);
  read_rope(reader,
            {.partial = true,
             .partial_factor = 0.25,
             .theta_key = {"rotary_emb_base|rope_theta", "rope.freq_base"},
             .partial_key = "rotary_pct|partial_rotary_factor"},
            attention);
  const NormSpec norm = layer_norm(reader, 1e-5);
  const Activation activation = read_activation(reader, {"hidden_act"}, "gelu");
  const int width = read_width(reader);
  const bool bias = reader.flag_or({"attention_bias"}, true);
  const bool parallel = reader.flag_or({"use_parallel_residual", "use_parallel_residual"}, true);
  for (int number = 0; number < layers; ++number) {
    reader.enter_layer(number);
    LayerSpec& layer = spec.layers.emplace_back();
    if (parallel) layer.residual = Residual::parallel;
    layer.attention_norm = reader.norm(norm, {"input_layernorm", "attn_norm"}, {spec.hidden}, true);
    layer.attention = attention;
    read_fused_projections(reader, layer.attention, spec.hidden, FusedRows::per_group, bias,
                           {"attention.query_key_value", "attn_qkv"},
                           {"attention.dense", "attn_output"});
    layer.feed_forward_norm =
        reader.norm(norm, {"post_attention_layernorm", "ffn_norm"}, {spec.hidden}, true);
    layer.feed_forward =
        read_plain(reader, spec.hidden, activation, width, true, {"mlp.dense_h_to_4h", "ffn_up"},
                   {"mlp.dense_4h_to_h", "ffn_down"});
  }
  const bool new_name = reader.has_tensor({"/lm_head.weight"});
  read_ends(reader, spec, norm,
            {.norm = {"final_layer_norm", "output_norm"},
             .bias = true,
             .head = {new_name ? "/lm_head.weight" : "/embed_out.weight", "output.weight"}});
  return spec;
}

}  // namespace poslens
