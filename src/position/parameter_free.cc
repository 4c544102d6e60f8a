#include "poslens/parameter_free.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "position/input_correlation.h"
#include "poslens/error.h"

namespace poslens {
namespace {

template <typename Enum, std::size_t N>
Enum parse_enum(const std::string& text, const char* option, const Enum (&values)[N]) {
  std::string allowed;
  for (const Enum value : values) {
    if (to_string(value) == text) return value;
    allowed += (allowed.empty() ? "" : ", ") + to_string(value);
  }
  throw UsageError(fmt::format("{} {}: expected one of {}", option, text, allowed));
}

void require_range(const char* option, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    throw UsageError(fmt::format("{} {}: expected {} to {}", option, value, low, high));
  }
}

void validate_rope(const ParameterFreeSpec& spec) {
  if (!spec.rope_theta) {
    if (spec.rotary_dim != 0) {
      throw UsageError(fmt::format("--rotary-dim {}: expected --rope THETA too", spec.rotary_dim));
    }
    if (spec.rope_scaling.kind != RopeScaling::Kind::none) {
      throw UsageError(
          fmt::format("--rope-scaling {}: expected --rope THETA too", spec.rope_scaling.text()));
    }
    return;
  }
  if (spec.rotary_dim == 0 && spec.dim % 2 != 0) {
    throw UsageError(
        fmt::format("--dim {}: expected an even number with --rope, or --rotary-dim", spec.dim));
  }
  if (spec.rotary_dim < 0 || spec.rotary_dim > spec.dim || spec.rotary_dim % 2 != 0) {
    throw UsageError(fmt::format("--rotary-dim {}: expected an even number up to --dim {}",
                                 spec.rotary_dim, spec.dim));
  }
  using Kind = RopeScaling::Kind;
  const Kind kind = spec.rope_scaling.kind;
  if ((kind == Kind::ntk || kind == Kind::dynamic) && spec.rotary()->rotary_dim <= 2) {
    throw UsageError(fmt::format("--rope-scaling {}: expected more than 2 coordinates that turn",
                                 spec.rope_scaling.text()));
  }
  if (kind == Kind::yarn && !(*spec.rope_theta > 1)) {
    throw UsageError(fmt::format("--rope-scaling {}: expected --rope THETA above 1, found {}",
                                 spec.rope_scaling.text(), *spec.rope_theta));
  }
}

}  // namespace

std::optional<RotarySpec> ParameterFreeSpec::rotary() const {
  if (!rope_theta) return std::nullopt;
  const int turning = rotary_dim == 0 ? dim : rotary_dim;
  return scaled({.theta = *rope_theta, .rotary_dim = turning}, rope_scaling, n);
}

double ParameterFreeSpec::scale() const {
  switch (score_scale) {
    case ScoreScale::inv_sqrt_dim:
      return 1 / std::sqrt(static_cast<double>(dim));
    case ScoreScale::inv_dim:
      return 1 / static_cast<double>(dim);
    case ScoreScale::none:
      break;
  }
  return 1;
}

const Mask& ParameterFreeSpec::mask_of(int layer) const {
  const auto own = layer_masks.find(layer);
  return own == layer_masks.end() ? mask : own->second;
}

bool ParameterFreeSpec::is_causal() const {
  for (int layer = 0; layer < layer_count; ++layer) {
    if (!mask_of(layer).is_causal()) return false;
  }
  return true;
}

std::string ParameterFreeSpec::mask_text() const {
  std::string text = mask.text();
  for (auto own = layer_masks.begin(); own != layer_masks.end();) {
    auto end = std::next(own);  // of a run of layers with the same mask
    int last = own->first;
    while (end != layer_masks.end() && end->first == last + 1 && end->second == own->second) {
      last = end++->first;
    }
    text += fmt::format(",{}@{}", own->second.text(), own->first);
    if (last != own->first) text += fmt::format("-{}", last);
    own = end;
  }
  return text;
}

void ParameterFreeSpec::validate() const {
  require_range("--n", static_cast<double>(n), 1, 4096);
  require_range("--dim", dim, 1, 16384);
  require_range("--layers", layer_count, 1, 64);
  validate_inputs(*this);
  require_range("--input-norm", input_norm, 1e-6, 1e6);
  require_range("--residual-weight", residual, 0, 1000);
  if (!layer_masks.empty() && layer_masks.rbegin()->first >= layer_count) {
    throw UsageError(fmt::format("--mask {}: expected layers below {}, as --layers says",
                                 mask_text(), layer_count));
  }
  validate_rope(*this);
  if (alibi_slope && !(*alibi_slope > 0 && *alibi_slope <= 1000)) {
    throw UsageError(fmt::format("--alibi {}: expected a slope above 0, up to 1000", *alibi_slope));
  }
  if (norm == Norm::layernorm && dim < 2) {
    throw UsageError(fmt::format("--dim {}: expected at least 2 with --norm layernorm", dim));
  }
}

std::vector<std::pair<std::string, std::string>> ParameterFreeSpec::options() const {
  std::vector<std::pair<std::string, std::string>> list = {
      {"n", std::to_string(n)},
      {"dim", std::to_string(dim)},
      {"layers", std::to_string(layer_count)},
      {"alpha", alpha_text()},
      {"norm", to_string(norm)},
      {"score-scale", to_string(score_scale)},
      {"inputs", to_string(inputs)},
      {"input-norm", fmt::format("{}", input_norm)},
      {"residual-weight", fmt::format("{}", residual)},
      {"rope", rope_theta ? fmt::format("{}", *rope_theta) : "none"},
      {"mask", mask_text()},
  };
  if (!token_groups.empty()) list.emplace_back("alpha-between", fmt::format("{}", alpha_between));
  if (markov != 0) list.emplace_back("markov", fmt::format("{}", markov));
  if (rotary_dim != 0) list.emplace_back("rotary-dim", std::to_string(rotary_dim));
  if (rope_scaling.kind != RopeScaling::Kind::none) {
    list.emplace_back("rope-scaling", rope_scaling.text());
  }
  if (alibi_slope) list.emplace_back("alibi", fmt::format("{}", *alibi_slope));
  return list;
}

Norm parse_norm(const std::string& text) {
  return parse_enum(text, "--norm", {Norm::l2, Norm::layernorm, Norm::rmsnorm, Norm::none});
}
ScoreScale parse_score_scale(const std::string& text) {
  return parse_enum(text, "--score-scale",
                    {ScoreScale::none, ScoreScale::inv_sqrt_dim, ScoreScale::inv_dim});
}
Inputs parse_inputs(const std::string& text) {
  return parse_enum(text, "--inputs", {Inputs::sphere, Inputs::gaussian});
}

std::string to_string(Norm norm) {
  switch (norm) {
    case Norm::l2:
      return "l2";
    case Norm::layernorm:
      return "layernorm";
    case Norm::rmsnorm:
      return "rmsnorm";
    case Norm::none:
      break;
  }
  return "none";
}

std::string to_string(ScoreScale scale) {
  switch (scale) {
    case ScoreScale::inv_sqrt_dim:
      return "inv-sqrt-dim";
    case ScoreScale::inv_dim:
      return "inv-dim";
    case ScoreScale::none:
      break;
  }
  return "none";
}

std::string to_string(Inputs inputs) { return inputs == Inputs::sphere ? "sphere" : "gaussian"; }

}  // namespace poslens
