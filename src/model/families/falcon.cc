// Falcon. Before the "new decoder architecture": one key-value head, or one per head; after it,
// groups. Attention and feed-forward run side by side on one norm or two, or one after the other;
// positions are rotary or ALiBi.

#include "model/families/families.h"
#include "model/families/parts.h"
#include "model/families/rope.h"

namespace poslens {
namespace {

constexpr Name kGroups{"num_kv_heads|n_head_kv", "attention.head_count_kv"};

// What the flags of config.json, or a GGUF file by its tensors, say about a layer.
struct Form {
  bool groups = false;   // the new architecture
  bool one_key = false;  // multi_query
  bool parallel = false;
  bool two_norms = false;
};

Form read_form(Reader& reader) {
  if (reader.is_gguf()) {  // which hold parallel models alone
    reader.enter_layer(0);
    const bool two_norms = reader.has_tensor({"", "attn_norm_2.weight"});
    reader.enter_layer(-1);
    return {.groups = true, .parallel = true, .two_norms = two_norms};
  }
  Form form;
  form.groups = reader.flag_or({"new_decoder_architecture"}, false);
  form.one_key = !form.groups && reader.flag_or({"multi_query"}, true);
  form.parallel = reader.flag_or({"parallel_attn"}, true);
  const Name norms{"num_ln_in_parallel_attn"};
  form.two_norms = reader.integer_or(norms, form.groups ? 2 : 1, 1, 2) == 2;
  if (form.groups && !form.parallel) {
    reader.fail({"parallel_attn"}, "true with the new decoder architecture", "false");
  }
  if (form.two_norms && !form.groups) {
    reader.fail(norms, "1 without the new decoder architecture", "2");
  }
  return form;
}

}  // namespace

ModelSpec read_falcon(Reader& reader) {
  auto [spec, layers] = read_sizes(reader, "falcon",
                                   {.hidden = {"n_embed|hidden_size", "embedding_length"},
                                    .layers = {"num_hidden_layers|n_layer", "block_count"},
                                    .embedding = {"word_embeddings.weight", "token_embd.weight"},
                                    .bases = {"transformer.", ""}});
  const Form form = read_form(reader);
  AttentionSpec attention =
      read_heads(reader, spec.hidden,
                 {.heads_key = {"num_attention_heads|n_head", "attention.head_count"},
                  .key_value_heads_key = kGroups});
  if (form.one_key) attention.key_value_heads = 1;  // whatever the key says
  if (!form.groups && !form.one_key && attention.key_value_heads != attention.query_heads) {
    reader.fail(kGroups, "as many as heads without multi_query",
                std::to_string(attention.key_value_heads));
  }
  if (reader.flag_or({"alibi"}, false)) {
    attention.alibi = AlibiSpec{.factor = attention.scale, .rounds_to_bf16 = true};
  } else {
    read_rope(reader, {}, attention);
  }
  const NormSpec norm =
      layer_norm(reader, 1e-5, {"layer_norm_epsilon", "attention.layer_norm_epsilon"});
  const Activation activation = read_activation(reader, {"activation"}, "gelu");
  const int width =
      reader.integer_or({"ffn_hidden_size", "feed_forward_length"}, 4 * spec.hidden, 1, kMany);
  const bool bias = reader.flag_or({"bias"}, false);
  for (int number = 0; number < layers; ++number) {
    reader.enter_layer(number, "h");
    const auto at = [&, hidden = spec.hidden](const Name& name) {
      return reader.norm(norm, name, {hidden}, true);
    };
    LayerSpec& layer = spec.layers.emplace_back();
    if (form.parallel) layer.residual = Residual::parallel;
    if (form.two_norms) {
      layer.attention_norm = at({"ln_attn", "attn_norm_2"});
      layer.feed_forward_norm = at({"ln_mlp", "attn_norm"});
    } else {
      layer.attention_norm = at({"input_layernorm", "attn_norm"});
      layer.feed_forward_norm =
          form.parallel ? layer.attention_norm : at({"post_attention_layernorm"});
    }
    layer.attention = attention;
    read_fused_projections(reader, layer.attention, spec.hidden,
                           form.one_key ? FusedRows::in_turn : FusedRows::per_group, bias,
                           {"self_attention.query_key_value", "attn_qkv"},
                           {"self_attention.dense", "attn_output"});
    layer.feed_forward =
        read_plain(reader, spec.hidden, activation, width, bias, {"mlp.dense_h_to_4h", "ffn_up"},
                   {"mlp.dense_4h_to_h", "ffn_down"});
  }
  read_ends(reader, spec, norm,
            {.norm = {"ln_f", "output_norm"}, .bias = true, .tied_by_default = true});
  return spec;
}

}  // namespace poslens
