// The ways to stretch a rotary encoding beyond the length that it was trained for, as transformers
// computes them.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include "poslens/error.h"
#include "poslens/rotary.h"

namespace poslens {
namespace {

struct Name {
  RopeScaling::Kind kind;
  const char* text;
  bool needs_original;
};
constexpr Name kNames[] = {
    {RopeScaling::Kind::linear, "linear", false},  {RopeScaling::Kind::ntk, "ntk", false},
    {RopeScaling::Kind::dynamic, "dynamic", true}, {RopeScaling::Kind::llama3, "llama3", true},
    {RopeScaling::Kind::yarn, "yarn", true},       {RopeScaling::Kind::longrope, "longrope", true},
};

// Reads ":number" off the front.
bool read_number(std::string_view& text, double& value) {
  if (!text.starts_with(':')) return false;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), value);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc{} && std::isfinite(value) && value >= 1;
}

// NTK-aware: a larger theta, so that the slowest pair is stretched by `factor` and the fastest not.
double stretched_theta(const RotarySpec& spec, double factor) {
  return spec.theta * std::pow(factor, spec.rotary_dim / (spec.rotary_dim - 2.0));
}

// What llama3 divides inv by: 1 where the wavelength is short, the factor where it is long.
double llama3_divisor(const RopeScaling& scaling, double inverse) {
  const double turns = scaling.original * inverse / (2 * std::numbers::pi);  // orig / wavelength
  const double smooth = std::clamp(
      (turns - scaling.low_frequency) / (scaling.high_frequency - scaling.low_frequency), 0.0, 1.0);
  return 1 / ((1 - smooth) / scaling.factor + smooth);
}

// The pair that makes `turns` turns within the original length, not rounded.
double pair_of(const RotarySpec& spec, const RopeScaling& scaling, double turns) {
  return spec.rotary_dim * std::log(scaling.original / (2 * std::numbers::pi * turns)) /
         (2 * std::log(spec.theta));
}

}  // namespace

RopeScaling RopeScaling::parse(std::string_view text) {
  if (text == "none") return {};
  for (const Name& name : kNames) {
    const std::string_view kind = name.text;
    if (!text.starts_with(kind) || name.kind == RopeScaling::Kind::longrope) continue;
    RopeScaling scaling{.kind = name.kind};
    std::string_view rest = text.substr(kind.size());
    if (!read_number(rest, scaling.factor)) break;
    if (name.needs_original && !read_number(rest, scaling.original)) break;
    if (!rest.empty()) break;
    return scaling;
  }
  throw UsageError(
      fmt::format("--rope-scaling {}: expected none, linear:F, ntk:F, dynamic:F:L, "
                  "llama3:F:L or yarn:F:L with a factor F and an original length L, "
                  "at least 1",
                  text));
}

std::string RopeScaling::text() const {
  for (const Name& name : kNames) {
    if (name.kind != kind) continue;
    return fmt::format("{}:{}", name.text, factor) +
           (name.needs_original ? fmt::format(":{}", original) : "");
  }
  return "none";
}

double yarn_attention_factor(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

RotarySpec scaled(RotarySpec spec, const RopeScaling& scaling, std::int64_t length) {
  const double factor = scaling.factor;
  const std::vector<double> inverse = inverse_frequencies(spec);
  const auto divide = [&](const auto& divisor) {
    if (spec.divisors.empty()) spec.divisors.assign(inverse.size(), 1);
    for (std::size_t k = 0; k < inverse.size(); ++k) {
      spec.divisors[k] = static_cast<float>(spec.divisors[k] * divisor(k));
    }
  };
  switch (scaling.kind) {
    case RopeScaling::Kind::none:
      break;
    case RopeScaling::Kind::linear:
      spec.linear_factor *= factor;
      break;
    case RopeScaling::Kind::ntk:
      spec.theta = stretched_theta(spec, factor);
      break;
    case RopeScaling::Kind::dynamic: {
      const double longest = std::max(static_cast<double>(length), scaling.original);
      spec.theta = stretched_theta(spec, factor * longest / scaling.original - (factor - 1));
      break;
    }
    case RopeScaling::Kind::llama3:
      divide([&](std::size_t k) { return llama3_divisor(scaling, inverse[k]); });
      break;
    case RopeScaling::Kind::yarn: {
      const double last = spec.rotary_dim - 1;
      double low = pair_of(spec, scaling, scaling.beta_fast);
      double high = pair_of(spec, scaling, scaling.beta_slow);
      if (scaling.truncate) {
        low = std::floor(low);
        high = std::ceil(high);
      }
      low = std::max(low, 0.0);
      high = std::min(high, last);
      if (high == low) high += 0.001;  // as transformers does, against a division by zero
      divide([&](std::size_t k) {
        const double ramp = std::clamp((static_cast<double>(k) - low) / (high - low), 0.0, 1.0);
        return 1 / (ramp / factor + (1 - ramp));
      });
      spec.attention_factor *= scaling.attention_factor.value_or(yarn_attention_factor(factor));
      break;
    }
    case RopeScaling::Kind::longrope: {
      const bool fits = static_cast<double>(length) <= scaling.original;
      const std::vector<float>& factors = fits ? scaling.short_factors : scaling.long_factors;
      divide([&](std::size_t k) { return double{factors.at(k)}; });
      spec.attention_factor *= scaling.attention_factor.value_or(
          factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(scaling.original)));
      break;
    }
  }
  return spec;
}

}  // namespace poslens
