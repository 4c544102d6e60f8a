// Llama, and what differs from it only in a window or in biases: Mistral, Qwen2. GGUF files call
// Mistral without a window llama too.

#include "model/families/families.h"
#include "model/families/parts.h"
#include "model/families/rope.h"

namespace poslens {
namespace {

// The masks are left to the caller.
ModelSpec read(Reader& reader, const AttentionSpec& attention, Sizes& sizes, GatedLayer parts) {
  ModelSpec& spec = sizes.spec;
  parts.norm = rms_norm(reader, 1e-6);
  parts.activation = read_activation(reader, {"hidden_act"}, "silu");
  parts.width = read_width(reader);
  for (int number = 0; number < sizes.layers; ++number) {
    reader.enter_layer(number);
    spec.layers.push_back(read_gated_layer(reader, parts, attention, spec.hidden));
  }
  read_ends(reader, spec, parts.norm);
  return spec;
}

}  // namespace

ModelSpec read_llama(Reader& reader) {
  Sizes sizes = read_sizes(reader, "llama");
  AttentionSpec attention = read_heads(reader, sizes.spec.hidden);
  read_rope(reader, {}, attention);
  // The converter to GGUF permutes the rows of query and key so that neighbours turn together.
  if (reader.is_gguf()) attention.rotary_pairs = RotaryPairs::interleaved;
  const bool bias = reader.flag_or({"attention_bias"}, false);
  return read(reader, attention, sizes,
              {.bias = bias,
               .output_bias = bias,
               .feed_forward_bias = reader.flag_or({"mlp_bias"}, false)});
}

ModelSpec read_mistral(Reader& reader) {
  Sizes sizes = read_sizes(reader, "mistral");
  AttentionSpec attention = read_heads(reader, sizes.spec.hidden, {.key_value_heads = 8});
  read_rope(reader, {}, attention);
  attention.mask = window_mask(read_window(reader, 4096));
  return read(reader, attention, sizes, {});
}

ModelSpec read_qwen2(Reader& reader) {
  Sizes sizes = read_sizes(reader, "qwen2");
  AttentionSpec attention = read_heads(reader, sizes.spec.hidden, {.key_value_heads = 32});
  read_rope(reader, {}, attention);
  ModelSpec spec = read(reader, attention, sizes, {.bias = true});
  read_qwen_windows(reader, spec);
  return spec;
}

}  // namespace poslens
