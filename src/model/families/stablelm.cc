// StableLM: as Llama with LayerNorms, a quarter of each head rotated; some run attention and
// feed-forward side by side on one norm, some norm each head's query and key.

#include <fmt/format.h>

#include "model/families/families.h"
#include "model/families/parts.h"
#include "model/families/rope.h"

namespace poslens {
namespace {

// A norm of `heads` heads: a tensor each in a folder, one of all in a GGUF file.
NormSpec read_head_norm(Reader& reader, const NormSpec& norm, std::string_view folder,
                        std::string_view gguf, std::int64_t heads, std::int64_t head_dim) {
  NormSpec result = norm;
  if (reader.is_gguf()) {
    const std::string name = fmt::format("{}.weight", gguf);
    if (!reader.has_tensor({"", name})) return {};
    result.weight = {reader.tensor({"", name}, {heads, head_dim})};
    return result;
  }
  for (std::int64_t head = 0; head < heads; ++head) {
    const std::string name = fmt::format("{}.norms.{}.weight", folder, head);
    result.weight.push_back(reader.tensor({name}, {head_dim}));
  }
  return result;
}

}  // namespace

ModelSpec read_stablelm(Reader& reader) {
  auto [spec, layers] = read_sizes(reader, "stablelm");
  AttentionSpec attention = read_heads(reader, spec.hidden, {.key_value_heads = 32});
  read_rope(reader, {.partial = true, .partial_factor = 0.25}, attention);
  const NormSpec norm = layer_norm(reader, 1e-5);
  const Activation activation = read_activation(reader, {"hidden_act"}, "silu");
  const int width = read_width(reader);
  const bool bias = reader.flag_or({"use_qkv_bias"}, false);
  const bool head_norms = reader.flag_or({"qk_layernorm"}, reader.is_gguf());
  const bool parallel = reader.flag_or({"use_parallel_residual", "use_parallel_residual"}, false);
  for (int number = 0; number < layers; ++number) {
    reader.enter_layer(number);
    LayerSpec& layer = spec.layers.emplace_back();
    layer.attention_norm = reader.norm(norm, {"input_layernorm", "attn_norm"}, {spec.hidden}, true);
    layer.attention = attention;
    read_projections(reader, layer.attention, spec.hidden, bias, false);
    if (head_norms) {
      layer.attention.query_norm =
          read_head_norm(reader, norm, "self_attn.q_layernorm", "attn_q_norm",
                         attention.query_heads, attention.head_dim);
      layer.attention.key_norm =
          read_head_norm(reader, norm, "self_attn.k_layernorm", "attn_k_norm",
                         attention.key_value_heads, attention.head_dim);
    }
    if (parallel) {
      layer.residual = Residual::parallel;
      layer.feed_forward_norm = layer.attention_norm;
    } else {
      layer.feed_forward_norm =
          reader.norm(norm, {"post_attention_layernorm", "ffn_norm"}, {spec.hidden}, true);
    }
    layer.feed_forward = read_gated(reader, spec.hidden, activation, width);
  }
  read_ends(reader, spec, norm, {.bias = true});
  return spec;
}

}  // namespace poslens
