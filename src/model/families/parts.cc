#include "model/families/parts.h"

#include <fmt/format.h>

#include <cmath>

#include "poslens/error.h"

namespace poslens {
namespace {

constexpr int kMostLayers = 1 << 16;

// The number of rows of the embedding, which vocab_size repeats.
int read_vocabulary(Reader& reader, const Name& embedding, int hidden) {
  const Name key{"vocab_size", "vocab_size"};
  if (!reader.is_gguf()) return reader.integer(key, 1, kMany);
  const TensorEntry* tensor = reader.checkpoint().find(embedding.gguf);
  if (tensor == nullptr || tensor->shape.size() != 2 || tensor->shape[0] > kMany) {
    throw Error(fmt::format("{}: tensor {}: expected [vocabulary, {}], found {}",
                            reader.checkpoint().path().string(), embedding.gguf, hidden,
                            tensor == nullptr ? "no such tensor" : "another shape"));
  }
  const int rows = static_cast<int>(tensor->shape[0]);
  const int stated = reader.integer_or(key, rows, 1, kMany);
  if (stated != rows) {
    reader.fail(key, fmt::format("the rows of {}, {}", embedding.gguf, rows),
                std::to_string(stated));
  }
  return rows;
}

}  // namespace

Sizes read_sizes(Reader& reader, std::string_view family, const SizeKeys& keys) {
  Sizes sizes;
  ModelSpec& spec = sizes.spec;
  spec.family = family;
  spec.name = reader.checkpoint().name();
  spec.hidden = reader.integer(keys.hidden, 1, kMany);
  spec.context_length = reader.integer_or(keys.context, 0, 0, 1 << 30);
  sizes.layers = reader.integer(keys.layers, 1, kMostLayers);
  spec.vocabulary = read_vocabulary(reader, keys.embedding, spec.hidden);
  reader.set_base(keys.bases, keys.embedding.folder);
  spec.embedding = reader.tensor(keys.embedding, {spec.vocabulary, spec.hidden});
  if (reader.is_gguf()) {
    reader.ignore_key("tensor_data_layout");
    // Mixture-of-experts files say how many; none at all is the plain model.
    for (const char* key : {"expert_count", "expert_used_count"}) {
      reader.integer_or({"", key}, 0, 0, 0);
    }
  }
  return sizes;
}

AttentionSpec read_heads(Reader& reader, int hidden, const HeadDefaults& defaults) {
  const Name& heads = defaults.heads_key;
  const Name& groups = defaults.key_value_heads_key;
  const Name head_dim{"head_dim", "attention.key_length"};
  AttentionSpec attention;
  attention.query_heads = defaults.heads != 0 ? reader.integer_or(heads, defaults.heads, 1, kMany)
                                              : reader.integer(heads, 1, kMany);
  const bool as_many = reader.is_gguf() || reader.is_null(groups) || defaults.key_value_heads == 0;
  const int otherwise = as_many ? attention.query_heads : defaults.key_value_heads;
  attention.key_value_heads = reader.integer_or(groups, otherwise, 1, kMany);
  if (attention.query_heads % attention.key_value_heads != 0) {
    reader.fail(groups, fmt::format("a divisor of {}", attention.query_heads),
                std::to_string(attention.key_value_heads));
  }
  const bool divides = reader.is_gguf() || reader.is_null(head_dim) || defaults.head_dim == 0;
  const int quotient = divides ? hidden / attention.query_heads : defaults.head_dim;
  attention.head_dim = reader.integer_or(head_dim, quotient, 1, kMany);
  if (attention.head_dim < 1) {
    reader.fail(heads, fmt::format("at most {}", hidden), std::to_string(attention.query_heads));
  }
  const Name value_dim{"", "attention.value_length"};
  const int values = reader.integer_or(value_dim, attention.head_dim, 1, kMany);
  if (values != attention.head_dim) {
    reader.fail(value_dim, fmt::format("the key length, {}", attention.head_dim),
                std::to_string(values));
  }
  attention.scale = 1 / std::sqrt(static_cast<double>(attention.head_dim));
  return attention;
}

NormSpec rms_norm(Reader& reader, double default_epsilon, const Name& key) {
  return {NormSpec::Kind::rms, reader.positive_or(key, default_epsilon)};
}

NormSpec layer_norm(Reader& reader, double default_epsilon, const Name& key) {
  return {NormSpec::Kind::layer, reader.positive_or(key, default_epsilon)};
}

Activation read_activation(Reader& reader, const Name& key, std::string_view otherwise) {
  const std::string name = reader.text_or(key, otherwise);
  if (name == "silu" || name == "swish") return Activation::silu;
  if (name == "gelu" || name == "gelu_python") return Activation::gelu;
  for (const char* tanh_name : {"gelu_new", "gelu_fast", "gelu_pytorch_tanh", "gelu_python_tanh"}) {
    if (name == tanh_name) return Activation::gelu_tanh;
  }
  reader.fail(key,
              "silu, swish, gelu, gelu_python, gelu_new, gelu_fast, gelu_pytorch_tanh or "
              "gelu_python_tanh",
              fmt::format("'{}'", name));
}

void read_projections(Reader& reader, AttentionSpec& attention, int hidden, bool bias,
                      bool output_bias, const ProjectionNames& names) {
  const std::int64_t queries = std::int64_t{attention.query_heads} * attention.head_dim;
  const std::int64_t keys = std::int64_t{attention.key_value_heads} * attention.head_dim;
  attention.query = reader.linear(names.query, queries, hidden, bias);
  attention.key = reader.linear(names.key, keys, hidden, bias);
  attention.value = reader.linear(names.value, keys, hidden, bias);
  attention.output = reader.linear(names.output, hidden, queries, output_bias);
}

void read_fused_projections(Reader& reader, AttentionSpec& attention, int hidden, FusedRows rows,
                            bool bias, const Name& fused, const Name& output) {
  const std::int64_t d = attention.head_dim;
  const std::int64_t heads = attention.query_heads;
  const std::int64_t groups = attention.key_value_heads;
  const std::int64_t total = (heads + 2 * groups) * d;
  if (rows == FusedRows::per_group && !reader.is_gguf()) {
    const std::int64_t stride = total / groups;
    const std::int64_t in_group = heads / groups * d;
    const auto part = [&](std::int64_t first, std::int64_t block) {
      return reader.linear(fused, {first, block, stride, total}, hidden, bias);
    };
    attention.query = part(0, in_group);
    attention.key = part(in_group, d);
    attention.value = part(in_group + d, d);
  } else {
    const auto part = [&](std::int64_t first) {
      return reader.linear(fused, {.first = first, .total = total}, hidden, bias);
    };
    attention.query = part(0);
    attention.key = part(heads * d);
    attention.value = part((heads + groups) * d);
  }
  attention.output = reader.linear(output, hidden, heads * d, bias);
}

FeedForwardSpec read_gated(Reader& reader, int hidden, Activation activation, int width,
                           bool bias) {
  return {width, activation, reader.linear({"mlp.gate_proj", "ffn_gate"}, width, hidden, bias),
          reader.linear({"mlp.up_proj", "ffn_up"}, width, hidden, bias),
          reader.linear({"mlp.down_proj", "ffn_down"}, hidden, width, bias)};
}

FeedForwardSpec read_plain(Reader& reader, int hidden, Activation activation, int width, bool bias,
                           const Name& up, const Name& down) {
  return {width,
          activation,
          {},
          reader.linear(up, width, hidden, bias),
          reader.linear(down, hidden, width, bias)};
}

LayerSpec read_gated_layer(Reader& reader, const GatedLayer& parts, const AttentionSpec& attention,
                           int hidden) {
  LayerSpec layer;
  layer.attention_norm = reader.norm(parts.norm, {"input_layernorm", "attn_norm"}, {hidden});
  layer.attention = attention;
  read_projections(reader, layer.attention, hidden, parts.bias, parts.output_bias);
  layer.feed_forward_norm =
      reader.norm(parts.norm, {"post_attention_layernorm", "ffn_norm"}, {hidden});
  layer.feed_forward =
      read_gated(reader, hidden, parts.activation, parts.width, parts.feed_forward_bias);
  return layer;
}

int read_width(Reader& reader, const Name& key) { return reader.integer(key, 1, kMany); }

int read_window(Reader& reader, int otherwise) {
  const Name key{"sliding_window", "attention.sliding_window"};
  if (reader.is_null(key)) return 0;
  return reader.integer_or(key, reader.is_gguf() ? 0 : otherwise, reader.is_gguf() ? 0 : 1,
                           1 << 30);
}

Mask window_mask(int window) { return window == 0 ? Mask{} : Mask{Mask::Kind::window, window}; }

std::vector<bool> sliding_layers(Reader& reader, int layers,
                                 const std::function<bool(int)>& otherwise) {
  std::vector<bool> slides;
  const Name pattern{"", "attention.sliding_window_pattern"};
  if (reader.has(pattern)) {
    if (const std::vector<bool>* flags = reader.flags_if(pattern); flags != nullptr) {
      if (std::ssize(*flags) != layers) {
        reader.fail(pattern, fmt::format("{} flags, one for each layer", layers),
                    std::to_string(flags->size()));
      }
      return *flags;
    }
    const int step = reader.integer(pattern, 1, kMany);
    for (int layer = 0; layer < layers; ++layer) slides.push_back((layer + 1) % step != 0);
    return slides;
  }
  if (reader.has({"layer_types"})) {
    const std::vector<std::string> types = reader.config().texts("layer_types");
    if (std::ssize(types) != layers) {
      reader.fail({"layer_types"}, fmt::format("{} of them, one for each layer", layers),
                  std::to_string(types.size()));
    }
    for (const std::string& type : types) {
      if (type != "full_attention" && type != "sliding_attention") {
        reader.fail({"layer_types"}, "full_attention or sliding_attention",
                    fmt::format("'{}'", type));
      }
      slides.push_back(type == "sliding_attention");
    }
    return slides;
  }
  for (int layer = 0; layer < layers; ++layer) slides.push_back(otherwise(layer));
  return slides;
}

void read_head(Reader& reader, ModelSpec& spec, bool tied_by_default, const Name& name) {
  reader.enter_layer(-1);
  const bool tied = reader.is_gguf() ? !reader.has_tensor(name)
                                     : reader.flag_or({"tie_word_embeddings"}, tied_by_default);
  if (tied) {
    spec.head.weight = spec.embedding;
    reader.ignore_tensors_ending(std::string(name.folder.substr(1)));  // a copy, not used
    return;
  }
  spec.head.weight = reader.tensor(name, {spec.vocabulary, spec.hidden});
}

void read_ends(Reader& reader, ModelSpec& spec, const NormSpec& norm, const EndKeys& keys) {
  reader.enter_layer(-1);
  spec.final_norm = reader.norm(norm, keys.norm, {spec.hidden}, keys.bias);
  read_head(reader, spec, keys.tied_by_default, keys.head);
}

void read_qwen_windows(Reader& reader, ModelSpec& spec) {
  if (!reader.flag_or({"use_sliding_window"}, false)) return;
  const int window = read_window(reader, 4096);
  const int first = reader.integer_or({"max_window_layers"}, 28, 0, kMany);
  const auto slides = sliding_layers(reader, static_cast<int>(spec.layers.size()),
                                     [&](int layer) { return layer >= first; });
  for (std::size_t layer = 0; layer < slides.size(); ++layer) {
    if (slides[layer]) spec.layers[layer].attention.mask = window_mask(window);
  }
}

}  // namespace poslens
