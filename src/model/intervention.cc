#include "poslens/intervention.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "poslens/error.h"
#include "poslens/index_list.h"

namespace poslens {
namespace {

constexpr char kGrammar[] =
    "position=none, rope=none, rope=theta:X, mask=causal, mask=full, mask=window:W, mask=prefix:K, "
    "each with optional @LAYERS, positions=+K, bos=none or bos=force";

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw UsageError(fmt::format("--intervene {}: {}", text, why));
}

template <typename Number>
bool read_number(std::string_view digits, Number& value) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc{} && end == digits.data() + digits.size();
}

double rope_theta(const Intervention& intervention) {
  double theta = 0;
  const std::string_view value = intervention.value;
  if (!value.starts_with("theta:") || !read_number(value.substr(6), theta) ||
      !std::isfinite(theta) || theta <= 1) {
    refuse(intervention.text, "expected rope=none or rope=theta:X with a number X above 1");
  }
  return theta;
}

// Positions are f32 numbers, exact up to here.
constexpr std::int64_t kLargestShift = 1 << 23;

std::int64_t position_shift(const Intervention& intervention) {
  std::int64_t shift = 0;
  const std::string_view value = intervention.value;
  if (!value.starts_with('+') || !read_number(value.substr(1), shift) || shift < 1 ||
      shift > kLargestShift) {
    refuse(intervention.text,
           fmt::format("expected positions=+K with K from 1 to {}", kLargestShift));
  }
  return shift;
}

Mask parse_mask(const Intervention& intervention) {
  Mask mask;
  try {
    mask = Mask::parse(intervention.value);
  } catch (const UsageError& error) {
    refuse(intervention.text, error.what());
  }
  if (mask.kind == Mask::Kind::strided) {  // attention works on keys without gaps
    refuse(intervention.text, "strided masks are for theory and simulate");
  }
  return mask;
}

BosPolicy bos_policy(const Intervention& intervention) {
  if (intervention.value == "none") return BosPolicy::none;
  if (intervention.value == "force") return BosPolicy::force;
  refuse(intervention.text, "expected bos=none or bos=force");
}

bool takes_layers(const Intervention& intervention) {
  return intervention.key == "position" || intervention.key == "rope" || intervention.key == "mask";
}

// What rope=none (also: rope=theta) and position=none work on.
bool has_encoding(const AttentionSpec& attention, const Intervention& intervention) {
  return attention.rotary || (intervention.key == "position" && attention.alibi);
}

// The layers that an intervention changes: those it names, or all that have what it changes.
std::vector<int> layers_of(const Intervention& intervention, const ModelSpec& spec) {
  const int count = static_cast<int>(spec.layers.size());
  const bool of_encoding = intervention.key != "mask";
  const auto fits = [&](int layer) {
    const AttentionSpec& attention = spec.layers[static_cast<std::size_t>(layer)].attention;
    return !of_encoding || has_encoding(attention, intervention);
  };
  const std::string_view what =
      intervention.key == "rope" ? "rotary encoding to change" : "encoding to take away";
  if (intervention.layers.empty()) {
    std::vector<int> layers;
    for (int layer = 0; layer < count; ++layer) {
      if (fits(layer)) layers.push_back(layer);
    }
    const bool learned = intervention.key == "position" && !spec.learned_positions.empty();
    if (layers.empty() && !learned) {
      refuse(intervention.text, fmt::format("no layer has a {}", what));
    }
    return layers;
  }
  for (const int layer : intervention.layers) {
    if (layer >= count) {
      refuse(intervention.text,
             fmt::format("layer {}: the model has {} layers, 0 to {}", layer, count, count - 1));
    }
    if (!fits(layer)) {
      refuse(intervention.text,
             spec.learned_positions.empty() || intervention.key == "rope"
                 ? fmt::format("layer {} has no {}", layer, what)
                 : "learned positions enter before layer 0, so they go from all layers at once");
    }
  }
  return intervention.layers;
}

void change(ModelSpec& spec, const Intervention& intervention) {
  if (intervention.key == "positions") {
    spec.first_position = position_shift(intervention);
    return;
  }
  if (intervention.key == "bos") {
    spec.bos = bos_policy(intervention);
    return;
  }
  const std::vector<int> layers = layers_of(intervention, spec);
  if (intervention.key == "position") spec.learned_positions.clear();
  for (const int layer : layers) {
    AttentionSpec& attention = spec.layers[static_cast<std::size_t>(layer)].attention;
    if (intervention.key == "mask") {
      attention.mask = parse_mask(intervention);
    } else if (intervention.value == "none") {
      attention.rotary.reset();
      if (intervention.key == "position") attention.alibi.reset();
    } else {
      attention.rotary->theta = rope_theta(intervention);
    }
  }
}

// "all layers", "layer 3 (counted from 0)", "layers 2-5,7 (counted from 0)"
std::string in_words(const std::vector<int>& layers, const ModelSpec& spec) {
  if (layers.size() == spec.layers.size()) return "all layers";
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < layers.size();) {
    std::size_t last = i;
    while (last + 1 < layers.size() && layers[last + 1] == layers[last] + 1) ++last;
    ranges.push_back(last == i ? std::to_string(layers[i])
                               : fmt::format("{}-{}", layers[i], layers[last]));
    i = last + 1;
  }
  return fmt::format("{} {} (counted from 0)", layers.size() == 1 ? "layer" : "layers",
                     fmt::join(ranges, ","));
}

// What position=none takes away.
std::string encodings_off(const std::vector<int>& layers, const ModelSpec& spec) {
  std::vector<std::string> parts;
  if (!spec.learned_positions.empty()) parts.emplace_back("learned positions off");
  std::vector<int> turned, biased;
  for (const int layer : layers) {
    const AttentionSpec& attention = spec.layers[static_cast<std::size_t>(layer)].attention;
    if (attention.rotary) turned.push_back(layer);
    if (attention.alibi) biased.push_back(layer);
  }
  if (!turned.empty()) parts.push_back("RoPE off in " + in_words(turned, spec));
  if (!biased.empty()) parts.push_back("ALiBi off in " + in_words(biased, spec));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string mask_in_words(const Mask& mask) {
  switch (mask.kind) {
    case Mask::Kind::full:
      return "full, every token sees every other,";
    case Mask::Kind::window:
      return fmt::format("window of {} keys", mask.size);
    case Mask::Kind::prefix:
      return fmt::format("prefix of {} tokens that see each other, causal after it,", mask.size);
    case Mask::Kind::strided:  // refused when parsed
    case Mask::Kind::causal:
      break;
  }
  return "causal";
}

}  // namespace

std::vector<int> parse_layers(std::string_view text, std::string_view option) {
  return parse_index_list(text, option, "layers");
}

Intervention parse_intervention(std::string_view text) {
  Intervention intervention;
  intervention.text = text;
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) refuse(text, fmt::format("expected {}", kGrammar));
  intervention.key = text.substr(0, equals);
  std::string_view value = text.substr(equals + 1);
  const std::size_t at = value.find('@');
  const bool per_layer = takes_layers(intervention);
  if (at != std::string_view::npos) {
    if (!per_layer) refuse(text, "only position, rope and mask take @LAYERS");
    intervention.layers = parse_layers(value.substr(at + 1), fmt::format("--intervene {}:", text));
    value = value.substr(0, at);
  }
  intervention.value = value;
  // Reading the value checks it.
  if (intervention.key == "position") {
    if (value != "none") refuse(text, "expected position=none");
  } else if (intervention.key == "rope") {
    if (value != "none") rope_theta(intervention);
  } else if (intervention.key == "mask") {
    parse_mask(intervention);
  } else if (intervention.key == "positions") {
    position_shift(intervention);
  } else if (intervention.key == "bos") {
    bos_policy(intervention);
  } else {
    refuse(text, fmt::format("expected {}", kGrammar));
  }
  return intervention;
}

ModelSpec apply(ModelSpec spec, const std::vector<Intervention>& interventions) {
  // What was set, of which layer (-1: of the model), and by which text.
  std::map<std::pair<std::string, int>, std::string> done;
  const ModelSpec given = spec;
  const Intervention* shift = nullptr;
  for (const Intervention& intervention : interventions) {
    const bool per_layer = takes_layers(intervention);
    // position and rope set the same thing.
    const std::string what = intervention.key == "position" ? "rope" : intervention.key;
    for (const int layer : per_layer ? layers_of(intervention, given) : std::vector<int>{-1}) {
      const auto [earlier, fresh] = done.try_emplace({what, layer}, intervention.text);
      if (!fresh) {
        refuse(intervention.text,
               fmt::format("{} sets the {}{} already", earlier->second, intervention.key,
                           per_layer ? fmt::format(" of layer {}", layer) : ""));
      }
    }
    change(spec, intervention);
    if (intervention.key == "positions") shift = &intervention;
  }
  const bool matters =
      !spec.learned_positions.empty() ||
      std::any_of(spec.layers.begin(), spec.layers.end(),
                  [](const LayerSpec& layer) { return layer.attention.rotary.has_value(); });
  if (shift != nullptr && !matters) {
    refuse(shift->text,
           "no layer has a rotary encoding and none are learned, so positions change nothing");
  }
  return spec;
}

std::string describe(const Intervention& intervention, const ModelSpec& spec) {
  if (intervention.key == "positions") {
    return fmt::format("positions moved by +{}", position_shift(intervention));
  }
  if (intervention.key == "bos") {
    return bos_policy(intervention) == BosPolicy::none ? "no BOS"
                                                       : "BOS in front of every sequence";
  }
  const std::vector<int> layers = layers_of(intervention, spec);
  if (intervention.key == "position") return encodings_off(layers, spec);
  const std::string where = in_words(layers, spec);
  if (intervention.key == "mask") {
    return fmt::format("mask: {} in {}", mask_in_words(parse_mask(intervention)), where);
  }
  if (intervention.value == "none") return "RoPE off in " + where;
  return fmt::format("RoPE theta {:g} in {}", rope_theta(intervention), where);
}

}  // namespace poslens
