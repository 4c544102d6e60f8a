#include <fmt/format.h>

#include <string>

#include "poslens/model_spec.h"

namespace poslens {
namespace {

std::string describe_rotary(const AttentionSpec& attention) {
  if (!attention.rotary) return "none";
  const RotarySpec& rotary = *attention.rotary;
  std::string text = fmt::format("theta {}, {} of {} coordinates, pairs {}", rotary.theta,
                                 rotary.rotary_dim, attention.head_dim,
                                 attention.rotary_pairs == RotaryPairs::interleaved
                                     ? "(2k, 2k + 1)"
                                     : fmt::format("(k, k + {})", rotary.rotary_dim / 2));
  if (rotary.linear_factor != 1) {
    text += fmt::format(", angles divided by {}", rotary.linear_factor);
  }
  if (!rotary.divisors.empty()) text += ", frequencies divided as rope_freqs.weight says";
  return text;
}

std::string describe_position(const AttentionSpec& attention) {
  return fmt::format("RoPE: {}; mask: {}", describe_rotary(attention), attention.mask.text());
}

// "layers 0 to 3" or "layer 3".
std::string layer_range(std::size_t first, std::size_t last) {
  return first == last ? fmt::format("layer {}", first)
                       : fmt::format("layers {} to {}", first, last);
}

}  // namespace

std::string describe(const ModelSpec& spec) {
  std::string text;
  const auto line = [&](const std::string& fact) { text += fact + '\n'; };
  line("name: " + spec.name);
  line("family: " + spec.family);
  line(fmt::format("layers: {}", spec.layers.size()));
  line(fmt::format("hidden size: {}", spec.hidden));
  line(fmt::format("vocabulary: {}", spec.vocabulary));
  line(spec.context_length > 0
           ? fmt::format("context length: {} tokens; longer sequences run, outside of what the "
                         "model was trained for",
                         spec.context_length)
           : "context length: not stated in the file");
  const LayerSpec& first = spec.layers.front();
  line(
      fmt::format("attention: {} query heads, {} key-value heads, head size {}, score scale {:.6g}",
                  first.attention.query_heads, first.attention.key_value_heads,
                  first.attention.head_dim, first.attention.scale));
  const auto mark = [](const LinearNames& names) { return !names.bias.empty(); };
  line(fmt::format("biases: {}", mark(first.attention.query) || mark(first.attention.output) ||
                                         mark(first.feed_forward.gate) ||
                                         mark(first.feed_forward.down)
                                     ? "yes"
                                     : "none"));
  line(fmt::format("feed-forward: gated silu, width {}", first.feed_forward.width));
  line(fmt::format("norm: RMS before each part, epsilon {:.6g}", spec.norm_epsilon));
  for (std::size_t begin = 0; begin < spec.layers.size();) {
    std::size_t end = begin + 1;
    const std::string position = describe_position(spec.layers[begin].attention);
    while (end < spec.layers.size() && describe_position(spec.layers[end].attention) == position) {
      ++end;
    }
    line(fmt::format("{}: {}", layer_range(begin, end - 1), position));
    begin = end;
  }
  if (spec.first_position != 0) line(fmt::format("first position: {}", spec.first_position));
  line(spec.head == spec.embedding ? "head: tied to the embedding" : "head: a matrix of its own");
  return text;
}

}  // namespace poslens
