// Gemma 1, 2 and 3: norms that store w - 1, a scaled embedding, GELU; from 2 on norms on both sides
// of each part, windows and softcaps; 3 has norms of each head's query and key, and an encoding of
// its own for the layers that slide.

#include <cmath>

#include "model/families/families.h"
#include "model/families/parts.h"
#include "model/families/rope.h"

namespace poslens {
namespace {

// The converter to GGUF adds the 1.
NormSpec gemma_norm(Reader& reader) {
  NormSpec norm = rms_norm(reader, 1e-6);
  norm.adds_one = !reader.is_gguf();
  return norm;
}

// sqrt(hidden), rounded to the type of the weights when that is a short one.
double embedding_scale(const Reader& reader, const ModelSpec& spec) {
  const double root = std::sqrt(static_cast<double>(spec.hidden));
  const TensorEntry* embedding = reader.checkpoint().find(spec.embedding);
  if (reader.is_gguf()) return root;
  const int bits = embedding->type == TensorType::bf16  ? 8
                   : embedding->type == TensorType::f16 ? 11
                                                        : 24;
  int exponent = 0;
  const double fraction = std::frexp(root, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
}

// GGUF files do not hold query_pre_attn_scalar: the head size but in the models of 27 billion
// parameters, which are known by their layers.
double query_scale(Reader& reader, const ModelSpec& spec, const AttentionSpec& attention,
                   int layers, int layers_of_27b) {
  if (!reader.is_gguf()) return 1 / std::sqrt(reader.positive_or({"query_pre_attn_scalar"}, 256));
  return layers == layers_of_27b
             ? 1 / std::sqrt(static_cast<double>(spec.hidden) / attention.query_heads)
             : attention.scale;
}

void read_gemma_ends(Reader& reader, const NormSpec& norm, ModelSpec& spec,
                     const EndKeys& keys = {.tied_by_default = true}) {
  spec.embedding_scale = embedding_scale(reader, spec);
  read_ends(reader, spec, norm, keys);
}

// Gemma 2 and 3: the layer entered.
LayerSpec read_layer(Reader& reader, const NormSpec& norm, const AttentionSpec& attention,
                     int hidden, Activation activation, int width, bool bias) {
  const auto at = [&](const Name& name) { return reader.norm(norm, name, {hidden}); };
  LayerSpec layer;
  layer.attention_norm = at({"input_layernorm", "attn_norm"});
  layer.attention = attention;
  read_projections(reader, layer.attention, hidden, bias, bias);
  layer.attention_output_norm = at({"post_attention_layernorm", "post_attention_norm"});
  layer.feed_forward_norm = at({"pre_feedforward_layernorm", "ffn_norm"});
  layer.feed_forward = read_gated(reader, hidden, activation, width);
  layer.feed_forward_output_norm = at({"post_feedforward_layernorm", "post_ffw_norm"});
  return layer;
}

}  // namespace

ModelSpec read_gemma(Reader& reader) {
  auto [spec, layers] = read_sizes(reader, "gemma");
  AttentionSpec attention =
      read_heads(reader, spec.hidden, {.key_value_heads = 16, .head_dim = 256});
  read_rope(reader, {}, attention);
  // The first files say gelu and mean its tanh form.
  const Activation named = read_activation(reader, {"hidden_act"}, "gelu_pytorch_tanh");
  const bool bias = reader.flag_or({"attention_bias"}, false);
  const GatedLayer parts{.norm = gemma_norm(reader),
                         .activation = named == Activation::gelu ? Activation::gelu_tanh : named,
                         .width = read_width(reader),
                         .bias = bias,
                         .output_bias = bias};
  for (int number = 0; number < layers; ++number) {
    reader.enter_layer(number);
    spec.layers.push_back(read_gated_layer(reader, parts, attention, spec.hidden));
  }
  read_gemma_ends(reader, parts.norm, spec);
  return spec;
}

ModelSpec read_gemma2(Reader& reader) {
  auto [spec, layers] = read_sizes(reader, "gemma2");
  AttentionSpec attention =
      read_heads(reader, spec.hidden, {.key_value_heads = 4, .head_dim = 256});
  attention.scale = query_scale(reader, spec, attention, layers, 46);
  attention.softcap =
      reader.positive_or_none({"attn_logit_softcapping", "attn_logit_softcapping"}, 50);
  read_rope(reader, {}, attention);
  const int window = read_window(reader, 4096);
  const auto slides = sliding_layers(reader, layers, [](int layer) { return layer % 2 == 0; });
  const NormSpec norm = gemma_norm(reader);
  const Activation activation = read_activation(reader, {"hidden_activation"}, "gelu_pytorch_tanh");
  const int width = read_width(reader);
  const bool bias = reader.flag_or({"attention_bias"}, false);
  for (int number = 0; number < layers; ++number) {
    reader.enter_layer(number);
    LayerSpec& layer = spec.layers.emplace_back(
        read_layer(reader, norm, attention, spec.hidden, activation, width, bias));
    if (slides[static_cast<std::size_t>(number)]) layer.attention.mask = window_mask(window);
  }
  read_gemma_ends(reader, norm, spec);
  spec.logit_softcap =
      reader.positive_or_none({"final_logit_softcapping", "final_logit_softcapping"}, 30);
  return spec;
}

ModelSpec read_gemma3(Reader& reader) {
  const bool nested = !reader.is_gguf() && reader.has({"text_config"});
  if (nested) reader.enter("text_config");
  auto [spec, layers] =
      read_sizes(reader, "gemma3",
                 {.bases = {"model.", "language_model.model.", "model.language_model.", ""}});
  for (const char* part : {"vision_tower.", "multi_modal_projector."}) {
    reader.ignore_tensors_beginning(part);
    reader.ignore_tensors_beginning(std::string("model.") + part);
  }
  if (reader.flag_or({"use_bidirectional_attention"}, false)) {
    reader.fail({"use_bidirectional_attention"}, "false: a decoder", "true");
  }
  AttentionSpec full =
      read_heads(reader, spec.hidden, {.heads = 8, .key_value_heads = 4, .head_dim = 256});
  full.scale = query_scale(reader, spec, full, layers, 62);
  AttentionSpec local = full;
  if (reader.is_gguf()) {
    read_rope(reader, {.theta = 1e6}, full);
    local.rotary = full.rotary;
    local.rotary->theta = reader.positive_or({"", "rope.freq_base_swa"}, 1e4);
  } else {
    read_layer_rope(reader, {.theta = 1e6}, true, full);
    read_layer_rope(reader, {.theta = 1e4, .theta_key = {"rope_local_base_freq"}}, false, local);
  }
  local.mask = window_mask(read_window(reader, 4096));
  const int step = reader.integer_or({"sliding_window_pattern"}, 6, 1, kMany);
  const auto slides =
      sliding_layers(reader, layers, [&](int layer) { return (layer + 1) % step != 0; });
  const NormSpec norm = gemma_norm(reader);
  const Activation activation = read_activation(reader, {"hidden_activation"}, "gelu_pytorch_tanh");
  const int width = read_width(reader);
  const bool bias = reader.flag_or({"attention_bias"}, false);
  for (int number = 0; number < layers; ++number) {
    reader.enter_layer(number);
    const AttentionSpec& attention = slides[static_cast<std::size_t>(number)] ? local : full;
    LayerSpec& layer = spec.layers.emplace_back(
        read_layer(reader, norm, attention, spec.hidden, activation, width, bias));
    layer.attention.query_norm =
        reader.norm(norm, {"self_attn.q_norm", "attn_q_norm"}, {full.head_dim});
    layer.attention.key_norm =
        reader.norm(norm, {"self_attn.k_norm", "attn_k_norm"}, {full.head_dim});
  }
  const bool own_head = nested && reader.checkpoint().find("lm_head.weight") == nullptr;
  EndKeys ends{.tied_by_default = true};
  if (own_head) ends.head = {"/language_model.lm_head.weight"};
  read_gemma_ends(reader, norm, spec, ends);
  // The class that holds a vision model too does not cap.
  const Name cap{"final_logit_softcapping", "final_logit_softcapping"};
  if (!nested) spec.logit_softcap = reader.positive_or_none(cap, 0);
  return spec;
}

}  // namespace poslens
