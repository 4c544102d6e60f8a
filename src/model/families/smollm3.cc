// SmolLM3: as Llama; every fourth layer has no rotary encoding.

#include <fmt/format.h>

#include "model/families/families.h"
#include "model/families/parts.h"
#include "model/families/rope.h"

namespace poslens {
namespace {

// Which layers rotate. GGUF files do not say; the step is 4 there.
std::vector<bool> rotating_layers(Reader& reader, int layers) {
  std::vector<bool> rotates;
  if (reader.has({"no_rope_layers"})) {  // 1: rotates
    for (const std::int64_t flag : reader.config().integers("no_rope_layers")) {
      rotates.push_back(flag != 0);
    }
    if (std::ssize(rotates) != layers) {
      reader.fail({"no_rope_layers"}, fmt::format("{} of them, one for each layer", layers),
                  std::to_string(rotates.size()));
    }
    return rotates;
  }
  const int step = reader.integer_or({"no_rope_layer_interval"}, 4, 1, kMany);
  for (int layer = 0; layer < layers; ++layer) rotates.push_back((layer + 1) % step != 0);
  return rotates;
}

}  // namespace

ModelSpec read_smollm3(Reader& reader) {
  auto [spec, layers] = read_sizes(reader, "smollm3");
  AttentionSpec attention = read_heads(reader, spec.hidden, {.key_value_heads = 4});
  read_rope(reader, {.theta = 2e6}, attention);
  if (reader.is_gguf()) attention.rotary_pairs = RotaryPairs::interleaved;  // permuted, as llama
  const std::vector<bool> rotates = rotating_layers(reader, layers);
  const bool windows = reader.flag_or({"use_sliding_window"}, false);
  const int window = read_window(reader, 0);
  const std::vector<bool> slides = sliding_layers(reader, layers, [&](int layer) {
    return windows && !rotates[static_cast<std::size_t>(layer)];
  });
  const bool bias = reader.flag_or({"attention_bias"}, false);
  const GatedLayer parts{.norm = rms_norm(reader, 1e-6),
                         .activation = read_activation(reader, {"hidden_act"}, "silu"),
                         .width = read_width(reader),
                         .bias = bias,
                         .output_bias = bias,
                         .feed_forward_bias = reader.flag_or({"mlp_bias"}, false)};
  for (int number = 0; number < layers; ++number) {
    reader.enter_layer(number);
    const auto place = static_cast<std::size_t>(number);
    LayerSpec& layer =
        spec.layers.emplace_back(read_gated_layer(reader, parts, attention, spec.hidden));
    if (!rotates[place]) layer.attention.rotary.reset();
    if (slides[place]) layer.attention.mask = window_mask(window);
  }
  read_ends(reader, spec, parts.norm, {.tied_by_default = true});
  return spec;
}

}  // namespace poslens
