// MPT as transformers runs it: ALiBi counted from the last key, whatever attn_config.alibi says;
// LayerNorms and matrices without biases.

#include <fmt/format.h>

#include "model/families/families.h"
#include "model/families/parts.h"

namespace poslens {
namespace {

// clip_qkv, softmax_scale, and what is refused.
void read_attention_config(Reader& reader, AttentionSpec& attention) {
  if (reader.is_gguf()) {
    attention.clip = reader.positive_or({"", "attention.clamp_kqv"}, 0);
    const Name bias{"", "attention.max_alibi_bias"};
    const double most = reader.positive_or(bias, 8);
    if (most != 8) reader.fail(bias, "8", fmt::to_string(most));
    return;
  }
  const auto config = reader.config().object_if("attn_config");
  if (!config) return;
  const auto positive = [&](std::string_view key, double otherwise) {
    const double value = config->number_or(key, otherwise);
    if (value < 0) config->fail(key, "a number above 0", fmt::to_string(value));
    return value;
  };
  attention.clip = positive("clip_qkv", 0);
  attention.scale = positive("softmax_scale", attention.scale);
  for (const char* flag : {"qk_ln", "prefix_lm"}) {
    if (config->boolean_or(flag, false)) config->fail(flag, "false", "true");
  }
  const std::string type = config->text_or("attn_type", "multihead_attention");
  if (type != "multihead_attention") {
    config->fail("attn_type", "multihead_attention", fmt::format("'{}'", type));
  }
}

}  // namespace

ModelSpec read_mpt(Reader& reader) {
  auto [spec, layers] = read_sizes(reader, "mpt",
                                   {.hidden = {"d_model|hidden_size", "embedding_length"},
                                    .layers = {"n_layers|num_hidden_layers", "block_count"},
                                    .context = {"max_seq_len", "context_length"},
                                    .embedding = {"wte.weight", "token_embd.weight"},
                                    .bases = {"transformer.", ""}});
  spec.position_limit = spec.context_length == 0 ? 2048 : spec.context_length;
  AttentionSpec attention = read_heads(
      reader, spec.hidden, {.heads_key = {"n_heads|num_attention_heads", "attention.head_count"}});
  attention.alibi = AlibiSpec{.counts_from_end = true};
  read_attention_config(reader, attention);
  const NormSpec norm =
      layer_norm(reader, 1e-5, {"layer_norm_epsilon", "attention.layer_norm_epsilon"});
  const int width = reader.integer_or({"", "feed_forward_length"}, 4 * spec.hidden, 1, kMany);
  for (int number = 0; number < layers; ++number) {
    reader.enter_layer(number, "blocks");
    LayerSpec& layer = spec.layers.emplace_back();
    layer.attention_norm = reader.norm(norm, {"norm_1", "attn_norm"}, {spec.hidden});
    layer.attention = attention;
    read_fused_projections(reader, layer.attention, spec.hidden, FusedRows::in_turn, false,
                           {"attn.Wqkv", "attn_qkv"}, {"attn.out_proj", "attn_output"});
    layer.feed_forward_norm = reader.norm(norm, {"norm_2", "ffn_norm"}, {spec.hidden});
    layer.feed_forward = read_plain(reader, spec.hidden, Activation::gelu, width, false,
                                    {"ffn.up_proj", "ffn_up"}, {"ffn.down_proj", "ffn_down"});
  }
  read_ends(reader, spec, norm, {.norm = {"norm_f", "output_norm"}, .tied_by_default = true});
  return spec;
}

}  // namespace poslens
