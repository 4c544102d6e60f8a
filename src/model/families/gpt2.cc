// GPT-2: learned positions, LayerNorms, matrices stored as [inputs, outputs] in folders.

#include <cmath>

#include "model/families/families.h"
#include "model/families/parts.h"

namespace poslens {

ModelSpec read_gpt2(Reader& reader) {
  auto [spec, layers] =
      read_sizes(reader, "gpt2",
                 {.hidden = {"n_embd|hidden_size", "embedding_length"},
                  .layers = {"n_layer|num_hidden_layers", "block_count"},
                  .context = {"n_positions|max_position_embeddings", "context_length"},
                  .embedding = {"wte.weight", "token_embd.weight"},
                  .bases = {"transformer.", ""}});
  reader.set_transposed();
  reader.ignore_tensors_ending(".attn.bias");  // masks
  reader.ignore_tensors_ending(".attn.masked_bias");
  spec.position_limit = spec.context_length == 0 ? 1024 : spec.context_length;
  spec.learned_positions =
      reader.tensor({"wpe.weight", "position_embd.weight"}, {spec.position_limit, spec.hidden});
  AttentionSpec attention = read_heads(
      reader, spec.hidden, {.heads_key = {"n_head|num_attention_heads", "attention.head_count"}});
  if (!reader.flag_or({"scale_attn_weights"}, true)) attention.scale = 1;
  const bool by_layer = reader.flag_or({"scale_attn_by_inverse_layer_idx"}, false);
  const NormSpec norm =
      layer_norm(reader, 1e-5, {"layer_norm_epsilon", "attention.layer_norm_epsilon"});
  const Activation activation = read_activation(reader, {"activation_function"}, "gelu_new");
  const int width =
      reader.integer_or({"n_inner", "feed_forward_length"}, 4 * spec.hidden, 1, kMany);
  for (int number = 0; number < layers; ++number) {
    reader.enter_layer(number, "h");
    LayerSpec& layer = spec.layers.emplace_back();
    layer.attention_norm = reader.norm(norm, {"ln_1", "attn_norm"}, {spec.hidden}, true);
    layer.attention = attention;
    if (by_layer) layer.attention.scale /= number + 1;
    read_fused_projections(reader, layer.attention, spec.hidden, FusedRows::in_turn, true,
                           {"attn.c_attn", "attn_qkv"}, {"attn.c_proj", "attn_output"});
    layer.feed_forward_norm = reader.norm(norm, {"ln_2", "ffn_norm"}, {spec.hidden}, true);
    layer.feed_forward = read_plain(reader, spec.hidden, activation, width, true,
                                    {"mlp.c_fc", "ffn_up"}, {"mlp.c_proj", "ffn_down"});
  }
  read_ends(reader, spec, norm,
            {.norm = {"ln_f", "output_norm"}, .bias = true, .tied_by_default = true});
  return spec;
}

}  // namespace poslens
