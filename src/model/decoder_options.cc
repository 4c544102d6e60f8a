#include <fmt/format.h>

#include <algorithm>

#include "poslens/decoder.h"
#include "poslens/error.h"

namespace poslens {

std::string to_string(ComputeType type) { return type == ComputeType::f32 ? "f32" : "bf16"; }

void DecoderOptions::validate(const ModelSpec& spec) const {
  const std::int64_t count = std::ssize(spec.layers);
  for (std::size_t place = 0; place < layers.size(); ++place) {
    if (layers[place] < 0 || layers[place] >= count) {
      throw UsageError(fmt::format("--layers {}: the model has {} layers, 0 to {}", layers[place],
                                   count, count - 1));
    }
    if (place > 0 && layers[place] <= layers[place - 1]) {
      throw UsageError(fmt::format("--layers: expected ascending numbers, found {} after {}",
                                   layers[place], layers[place - 1]));
    }
  }
  if (groups < 1) {
    throw UsageError(fmt::format("--groups {}: expected a whole number from 1", groups));
  }
  if (pool < 1) {
    throw UsageError(fmt::format("--pool {}: expected a whole number from 1", pool));
  }
  if (pool > 1 && gram) {
    throw UsageError(
        fmt::format("--pool {}: expected without --gram, whose maps are not pooled", pool));
  }
  if (memory_bytes < 1) {
    throw UsageError(fmt::format("--memory {}: expected a positive size", memory_bytes));
  }
  if (per_head) {
    const auto heads_of = [&](int layer) {
      return spec.layers[static_cast<std::size_t>(layer)].attention.query_heads;
    };
    const int first = layers.empty() ? 0 : layers.front();
    const int last = static_cast<int>(count) - 1;
    for (int layer = first; layer <= last; ++layer) {
      const bool kept =
          layers.empty() || std::find(layers.begin(), layers.end(), layer) != layers.end();
      if (kept && heads_of(layer) != heads_of(first)) {
        throw UsageError(fmt::format(
            "--per-head: expected layers with equal numbers of heads, found {} in layer "
            "{} and {} in layer {}",
            heads_of(first), first, heads_of(layer), layer));
      }
    }
  }
}

void DecoderOptions::validate_decode(std::int64_t length, std::int64_t sequences) const {
  if (!decode) return;
  if (sequences < 4) {
    throw UsageError(
        fmt::format("--decode: expected at least 4 sequences, two to fit and two to test, found {}",
                    sequences));
  }
  if (length < 3) {
    throw UsageError(fmt::format(
        "--decode: expected sequences of at least 3 tokens, of which the first is left out, found "
        "{}",
        length));
  }
  if (decode_width < 1) {
    throw UsageError(fmt::format("decode_width {}: expected a whole number from 1", decode_width));
  }
}

}  // namespace poslens
