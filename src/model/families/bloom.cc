// BLOOM: ALiBi, a norm of the embedding, biases throughout; in some models the residual stream goes
// on from the normed input of each part.

#include "model/families/families.h"
#include "model/families/parts.h"

namespace poslens {

ModelSpec read_bloom(Reader& reader) {
  auto [spec, layers] = read_sizes(reader, "bloom",
                                   {.hidden = {"n_embed|hidden_size", "embedding_length"},
                                    .layers = {"n_layer|num_hidden_layers", "block_count"},
                                    .context = {"seq_length", "context_length"},
                                    .embedding = {"word_embeddings.weight", "token_embd.weight"},
                                    .bases = {"transformer.", ""}});
  AttentionSpec attention = read_heads(
      reader, spec.hidden, {.heads_key = {"n_head|num_attention_heads", "attention.head_count"}});
  attention.alibi = AlibiSpec{};
  const NormSpec norm =
      layer_norm(reader, 1e-5, {"layer_norm_epsilon", "attention.layer_norm_epsilon"});
  const int width = reader.integer_or({"", "feed_forward_length"}, 4 * spec.hidden, 1, kMany);
  const bool from_norm = reader.flag_or({"apply_residual_connection_post_layernorm"}, false);
  spec.embedding_norm =
      reader.norm(norm, {"word_embeddings_layernorm", "token_embd_norm"}, {spec.hidden}, true);
  for (int number = 0; number < layers; ++number) {
    reader.enter_layer(number, "h");
    LayerSpec& layer = spec.layers.emplace_back();
    if (from_norm) layer.residual = Residual::from_norm;
    layer.attention_norm = reader.norm(norm, {"input_layernorm", "attn_norm"}, {spec.hidden}, true);
    layer.attention = attention;
    read_fused_projections(reader, layer.attention, spec.hidden, FusedRows::per_group, true,
                           {"self_attention.query_key_value", "attn_qkv"},
                           {"self_attention.dense", "attn_output"});
    layer.feed_forward_norm =
        reader.norm(norm, {"post_attention_layernorm", "ffn_norm"}, {spec.hidden}, true);
    layer.feed_forward =
        read_plain(reader, spec.hidden, Activation::gelu_tanh, width, true,
                   {"mlp.dense_h_to_4h", "ffn_up"}, {"mlp.dense_4h_to_h", "ffn_down"});
  }
  read_ends(reader, spec, norm,
            {.norm = {"ln_f", "output_norm"}, .bias = true, .tied_by_default = true});
  return spec;
}

}  // namespace poslens
