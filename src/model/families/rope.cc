#include "model/families/rope.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "poslens/error.h"

namespace poslens {
namespace {

constexpr std::string_view kTypes = "default, linear, dynamic, llama3, yarn or longrope";

// A dict of rope parameters and where to look for what it does not hold.
struct RopeConfig {
  const Reader& reader;
  std::optional<Config> dict;
  const RopeDefaults& defaults;
  bool nested = false;

  bool has(std::string_view key) const { return dict && dict->has(key); }

  double number(std::string_view key, double low) const {
    const double value = dict->number(key);
    if (!(value >= low && std::isfinite(value))) {
      dict->fail(key, fmt::format("a number from {}", low), fmt::to_string(value));
    }
    return value;
  }
  double number_or(std::string_view key, double otherwise, double low) const {
    return has(key) ? number(key, low) : otherwise;
  }

  std::string type() const {
    if (!dict) return "default";
    const std::string text =
        dict->text_or("rope_type", dict->has("type") ? dict->text("type") : "default");
    const bool longrope = text == "su" || (text == "yarn" && defaults.yarn_is_longrope);
    return longrope ? "longrope" : text;
  }

  double most_positions() const {
    const double value = reader.config().number("max_position_embeddings");
    if (!(value >= 1)) {
      reader.fail({"max_position_embeddings"}, "a number from 1", fmt::to_string(value));
    }
    return value;
  }

  // The length before scaling: beside the dict, then in it, then the longest there is.
  double original(double low = 1) const {
    constexpr std::string_view kKey = "original_max_position_embeddings";
    double value = defaults.original_positions;
    if (!nested && reader.config().has(kKey)) {
      value = reader.config().number(kKey);
    } else if (value == 0) {
      value = has(kKey) ? number(kKey, low) : most_positions();
    }
    if (!(value >= low)) {
      reader.fail({kKey}, fmt::format("a number from {}", low), fmt::to_string(value));
    }
    return value;
  }
};

std::vector<float> pair_factors(const RopeConfig& rope, std::string_view key, int rotary_dim) {
  std::vector<float> factors;
  for (const double value : rope.dict->numbers(key)) {
    if (!(value > 0 && std::isfinite(value))) {
      rope.dict->fail(key, "numbers above 0", fmt::to_string(value));
    }
    factors.push_back(static_cast<float>(value));
  }
  if (std::ssize(factors) != rotary_dim / 2) {
    rope.dict->fail(key, fmt::format("{} numbers, one for each pair", rotary_dim / 2),
                    std::to_string(factors.size()));
  }
  return factors;
}

void read_yarn(const RopeConfig& rope, RopeScaling& scaling) {
  scaling.kind = RopeScaling::Kind::yarn;
  scaling.original = rope.original();
  scaling.factor =
      rope.has("factor") ? rope.number("factor", 1e-6) : rope.most_positions() / scaling.original;
  const double fast = rope.number_or("beta_fast", 0, 0);
  const double slow = rope.number_or("beta_slow", 0, 0);
  if (fast != 0) scaling.beta_fast = fast;
  if (slow != 0) scaling.beta_slow = slow;
  if (!rope.nested) scaling.truncate = rope.dict->boolean_or("truncate", true);
  const double mscale = rope.number_or("mscale", 0, 0);
  const double mscale_all = rope.number_or("mscale_all_dim", 0, 0);
  if (rope.has("attention_factor")) {
    scaling.attention_factor = rope.number("attention_factor", 0);
  } else if (mscale != 0 && mscale_all != 0) {
    scaling.attention_factor = yarn_attention_factor(scaling.factor, mscale) /
                               yarn_attention_factor(scaling.factor, mscale_all);
  }
}

void read_longrope(const RopeConfig& rope, int rotary_dim, RopeScaling& scaling) {
  scaling.kind = RopeScaling::Kind::longrope;
  scaling.original = rope.original(2);
  scaling.factor =
      rope.has("factor") ? rope.number("factor", 1e-6) : rope.most_positions() / scaling.original;
  scaling.short_factors = pair_factors(rope, "short_factor", rotary_dim);
  scaling.long_factors = pair_factors(rope, "long_factor", rotary_dim);
  if (rope.has("attention_factor")) {
    scaling.attention_factor = rope.number("attention_factor", 0);
  }
}

RopeScaling read_scaling(const RopeConfig& rope, int rotary_dim) {
  RopeScaling scaling;
  const std::string type = rope.type();
  if (type == "linear") {
    scaling.kind = RopeScaling::Kind::linear;
    scaling.factor = rope.number("factor", 1e-6);
  } else if (type == "dynamic") {
    scaling.kind = RopeScaling::Kind::dynamic;
    scaling.factor = rope.number("factor", 1);
    scaling.original = rope.most_positions();
  } else if (type == "llama3") {
    scaling.kind = RopeScaling::Kind::llama3;
    scaling.factor = rope.number("factor", 1e-6);
    scaling.low_frequency = rope.number("low_freq_factor", 1e-6);
    scaling.high_frequency = rope.number("high_freq_factor", 1e-6);
    if (scaling.high_frequency <= scaling.low_frequency) {
      rope.dict->fail("high_freq_factor", "more than low_freq_factor",
                      fmt::to_string(scaling.high_frequency));
    }
    scaling.original = rope.original();
  } else if (type == "yarn") {
    read_yarn(rope, scaling);
  } else if (type == "longrope") {
    read_longrope(rope, rotary_dim, scaling);
  } else if (type != "default") {
    rope.dict->fail("rope_type", kTypes, fmt::format("'{}'", type));
  }
  return scaling;
}

void set_rotary_dim(Reader& reader, const Name& key, double value, AttentionSpec& attention) {
  const double dim = std::floor(value);
  if (!(dim >= 2 && dim <= attention.head_dim && std::fmod(dim, 2) == 0)) {
    reader.fail(key, fmt::format("an even rotary dimension from 2 to {}", attention.head_dim),
                fmt::to_string(dim));
  }
  attention.rotary->rotary_dim = static_cast<int>(dim);
}

// What the formula of a scaling divides by.
void check_scaling(const Reader& reader, const RopeDefaults& defaults,
                   const AttentionSpec& attention) {
  const RopeScaling::Kind kind = attention.rope_scaling.kind;
  if (kind == RopeScaling::Kind::dynamic && attention.rotary->rotary_dim < 4) {
    reader.fail({"head_dim"}, "at least 4 rotary dimensions for dynamic scaling", "2");
  }
  if (kind == RopeScaling::Kind::yarn && attention.rotary->theta <= 1) {
    reader.fail(defaults.theta_key, "more than 1 for yarn",
                fmt::to_string(attention.rotary->theta));
  }
}

void read_folder_rope(Reader& reader, const RopeConfig& rope, AttentionSpec& attention) {
  const RopeDefaults& defaults = rope.defaults;
  attention.rotary.emplace();
  attention.rotary->theta = rope.has("rope_theta")
                                ? rope.number("rope_theta", 1e-6)
                                : reader.positive_or(defaults.theta_key, defaults.theta);
  constexpr std::string_view kPartial = "partial_rotary_factor";
  double partial = defaults.partial_factor;
  if (rope.has(kPartial)) {
    partial = rope.number(kPartial, 0);
  } else {
    partial = reader.positive_or({defaults.partial_key}, partial);
  }
  if (!defaults.partial && partial != 1) {
    reader.fail({defaults.partial_key}, "none: this family rotates whole heads",
                fmt::to_string(partial));
  }
  set_rotary_dim(reader, {defaults.partial_key}, attention.head_dim * partial, attention);
  attention.rope_scaling = read_scaling(rope, attention.rotary->rotary_dim);
  check_scaling(reader, defaults, attention);
}

// Factors of each pair from a tensor of a GGUF file.
std::vector<float> tensor_factors(Reader& reader, std::string_view name, std::int64_t pairs) {
  std::vector<float> factors(static_cast<std::size_t>(pairs));
  const std::string found = reader.tensor({"", name}, {pairs});
  expand_rows(reader.checkpoint().require(found, {pairs}), 0, 1, factors);
  for (const float factor : factors) {
    if (factor > 0 && std::isfinite(factor)) continue;
    throw Error(fmt::format("{}: tensor {}: expected numbers above 0, found {}",
                            reader.checkpoint().path().string(), name, factor));
  }
  return factors;
}

// Keys and tensors as llama.cpp has them. llama3's scaling comes as divisors of the frequencies.
void read_gguf_rope(Reader& reader, const RopeDefaults& defaults, AttentionSpec& attention) {
  attention.rotary.emplace();
  attention.rotary->theta = reader.positive_or(defaults.theta_key, defaults.theta);
  const Name dimension{"", "rope.dimension_count"};
  const double usual = attention.head_dim * defaults.partial_factor;
  set_rotary_dim(reader, dimension, reader.integer_or(dimension, static_cast<int>(usual), 0, kMany),
                 attention);
  // Whether the model was trained after scaling changes nothing here.
  reader.ignore_key("rope.scaling.finetuned");
  const Name type_key{"", "rope.scaling.type"};
  const Name factor_key{"", "rope.scaling.factor"};
  const std::string type = reader.text_or(type_key, "none");
  RopeScaling& scaling = attention.rope_scaling;
  const std::int64_t pairs = attention.rotary->rotary_dim / 2;
  reader.enter_layer(-1);
  const bool has_lists = reader.has_tensor({"", "rope_factors_long.weight"});
  if (type == "none" && !has_lists) {
    reader.ignore_key("rope.scaling.factor");
    reader.ignore_key("rope.scaling.original_context_length");
  } else if (type == "linear") {
    scaling.kind = RopeScaling::Kind::linear;
    scaling.factor = reader.positive(factor_key);
    reader.ignore_key("rope.scaling.original_context_length");
  } else if (type == "yarn" || type == "longrope" || has_lists) {
    scaling.kind = has_lists ? RopeScaling::Kind::longrope : RopeScaling::Kind::yarn;
    scaling.original = reader.positive({"", "rope.scaling.original_context_length"});
    scaling.factor = reader.positive_or(factor_key, 1);
    const Name attention_factor{"", "rope.scaling.attn_factor"};
    if (has_lists) {
      scaling.long_factors = tensor_factors(reader, "rope_factors_long.weight", pairs);
      scaling.short_factors = tensor_factors(reader, "rope_factors_short.weight", pairs);
      scaling.attention_factor = reader.positive_or(attention_factor, 1);
    } else if (reader.has(attention_factor)) {
      scaling.attention_factor =
          reader.positive(attention_factor) * yarn_attention_factor(scaling.factor);
    }
  } else {
    reader.fail(type_key, "none, linear, yarn or longrope (llama3's is in rope_freqs.weight)",
                fmt::format("'{}'", type));
  }
  if (reader.has_tensor({"", "rope_freqs.weight"})) {
    attention.rotary->divisors = tensor_factors(reader, "rope_freqs.weight", pairs);
  }
  check_scaling(reader, defaults, attention);
}

}  // namespace

void read_rope(Reader& reader, const RopeDefaults& defaults, AttentionSpec& attention) {
  if (reader.is_gguf()) {
    read_gguf_rope(reader, defaults, attention);
    return;
  }
  const Config& config = reader.config();
  auto dict = config.object_if("rope_scaling");
  if (!dict) dict = config.object_if("rope_parameters");
  read_folder_rope(reader, {reader, std::move(dict), defaults}, attention);
}

void read_layer_rope(Reader& reader, const RopeDefaults& defaults, bool full,
                     AttentionSpec& attention) {
  const Config& config = reader.config();
  const auto both = config.object_if("rope_parameters");
  auto dict = both ? both->object_if(full ? "full_attention" : "sliding_attention") : std::nullopt;
  const auto scaling = full ? config.object_if("rope_scaling") : std::nullopt;
  if (!scaling) {
    read_folder_rope(reader, {reader, std::move(dict), defaults, true}, attention);
    return;
  }
  // rope_scaling is merged into the dict of the full layers; of the latter only theta can be left.
  RopeDefaults merged = defaults;
  if (dict && dict->has("rope_theta") && !scaling->has("rope_theta")) {
    merged.theta = dict->number("rope_theta");
    merged.theta_key = {""};
  }
  read_folder_rope(reader, {reader, scaling, merged, true}, attention);
}

}  // namespace poslens
