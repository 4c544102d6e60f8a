#include <fmt/format.h>

#include <string>
#include <string_view>

#include "poslens/model_spec.h"

namespace poslens {
namespace {

std::string describe_rotary(const AttentionSpec& attention) {
  if (!attention.rotary) return "RoPE: none";
  const RotarySpec& rotary = *attention.rotary;
  std::string text = fmt::format("RoPE: theta {}, {} of {} coordinates, pairs {}", rotary.theta,
                                 rotary.rotary_dim, attention.head_dim,
                                 attention.rotary_pairs == RotaryPairs::interleaved
                                     ? "(2k, 2k + 1)"
                                     : fmt::format("(k, k + {})", rotary.rotary_dim / 2));
  if (rotary.linear_factor != 1) {
    text += fmt::format(", angles divided by {}", rotary.linear_factor);
  }
  if (!rotary.divisors.empty()) text += ", frequencies divided as rope_freqs.weight says";
  if (attention.rope_scaling.kind != RopeScaling::Kind::none) {
    text += ", scaling " + attention.rope_scaling.text();
  }
  return text;
}

// What tells a layer's positions apart: encoding and mask.
std::string describe_position(const AttentionSpec& attention) {
  std::string text = attention.alibi ? "ALiBi" : describe_rotary(attention);
  return fmt::format("{}; mask: {}", text, attention.mask.text());
}

// "layers 0 to 3" or "layer 3".
std::string layer_range(std::size_t first, std::size_t last) {
  return first == last ? fmt::format("layer {}", first)
                       : fmt::format("layers {} to {}", first, last);
}

std::string describe_norm(const NormSpec& norm) {
  if (norm.kind == NormSpec::Kind::none) return "none";
  return fmt::format("{}{}{}, epsilon {:.6g}", norm.kind == NormSpec::Kind::rms ? "RMS" : "layer",
                     norm.weight.empty() ? " without weight" : "",
                     norm.bias.empty() ? "" : " with bias", norm.epsilon);
}

std::string describe_norms(const LayerSpec& layer) {
  const bool before = layer.attention_norm.kind != NormSpec::Kind::none;
  const bool after = layer.attention_output_norm.kind != NormSpec::Kind::none;
  std::string text = describe_norm(before ? layer.attention_norm : layer.attention_output_norm);
  if (before && after) return text + ", before and after each part";
  return text + (before ? ", before each part" : ", after each part");
}

std::string_view describe_residual(Residual residual) {
  switch (residual) {
    case Residual::parallel:
      return "attention and feed-forward side by side";
    case Residual::from_norm:
      return "attention, then feed-forward, each added to its normed input";
    case Residual::sequential:
      break;
  }
  return "attention, then feed-forward";
}

std::string describe_attention(const AttentionSpec& attention) {
  std::string text = fmt::format(
      "{} query heads, {} key-value heads, head size {}, score scale {:.6g}", attention.query_heads,
      attention.key_value_heads, attention.head_dim, attention.scale);
  if (attention.softcap != 0) text += fmt::format(", softcap {}", attention.softcap);
  if (attention.clip != 0) text += fmt::format(", q, k and v cut to {}", attention.clip);
  if (attention.query_norm.kind != NormSpec::Kind::none) {
    text += fmt::format(", q and k normed {} ({})",
                        attention.norm_spans_heads ? "over all heads" : "per head",
                        describe_norm(attention.query_norm));
  }
  return text;
}

std::string describe_feed_forward(const FeedForwardSpec& feed_forward) {
  const std::string_view activation = feed_forward.activation == Activation::silu   ? "silu"
                                      : feed_forward.activation == Activation::gelu ? "gelu"
                                                                                    : "gelu (tanh)";
  return fmt::format("{}{}, width {}", feed_forward.gated() ? "gated " : "", activation,
                     feed_forward.width);
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
  line(spec.position_limit > 0
           ? fmt::format("context length: {} tokens, no more", spec.position_limit)
       : spec.context_length > 0
           ? fmt::format("context length: {} tokens; longer sequences run, outside of what the "
                         "model was trained for",
                         spec.context_length)
           : "context length: not stated in the file");
  if (spec.first_missing_layer) {
    line(fmt::format("file: ends with layer {}; later layers and the loss cannot be run",
                     *spec.first_missing_layer - 1));
  }
  if (!spec.learned_positions.empty()) line("positions: learned, added to the embedding");
  if (spec.embedding_scale != 1) line(fmt::format("embedding: times {:.6g}", spec.embedding_scale));
  if (spec.embedding_norm.kind != NormSpec::Kind::none) {
    line("embedding norm: " + describe_norm(spec.embedding_norm));
  }
  const LayerSpec& first = spec.layers.front();
  line("attention: " + describe_attention(first.attention));
  const auto mark = [](const LinearSpec& names) { return !names.bias.empty(); };
  line(fmt::format("biases: {}", mark(first.attention.query) || mark(first.attention.output) ||
                                         mark(first.feed_forward.gate) ||
                                         mark(first.feed_forward.down)
                                     ? "yes"
                                     : "none"));
  line("feed-forward: " + describe_feed_forward(first.feed_forward));
  line("norm: " + describe_norms(first));
  line(fmt::format("block: {}", describe_residual(first.residual)));
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
  std::string head =
      spec.head.weight == spec.embedding ? "tied to the embedding" : "a matrix of its own";
  if (!spec.head.bias.empty()) head += ", with bias";
  if (spec.logit_scale != 1) head += fmt::format(", logits times {:.6g}", spec.logit_scale);
  if (spec.logit_softcap != 0) head += fmt::format(", softcap {}", spec.logit_softcap);
  line("head: " + head);
  return text;
}

}  // namespace poslens
