// Second-layer scores in closed form (docs/theory.md; arXiv 2509.21042, appendix A, and its later
// version for LayerNorm). Positions are counted from 1 in the formulas, from 0 in the code.

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "poslens/error.h"
#include "poslens/theory.h"

namespace poslens {
namespace {

// S_ij = g(i) / (h(i) h(j)), j < i.
struct Factors {
  double g;
  double h;
};

Factors l2_factors(double i, double alpha, bool residual) {
  const double e = std::exp(1.0), ea = std::exp(alpha);
  const double sum = e + (i - 1) * ea;  // D_i, the softmax denominator
  if (residual) {
    const double own = 2 * e + (i - 1) * ea;
    const double g = 2 * (2 * alpha * e + ea * (1 + alpha * (2 * i - 3))) / sum;
    const double h2 =
        (own * own + 2 * own * ea * alpha * (i - 1) + ea * ea * (i - 1) * (1 + (i - 2) * alpha)) /
        (sum * sum);
    return {g, std::sqrt(h2)};
  }
  const double g = (e * alpha + ea * (1 + alpha * (i - 2))) / sum;
  const double h2 =
      (e * e + 2 * e * ea * alpha * (i - 1) + ea * ea * (i - 1) * (1 + alpha * (i - 2))) /
      (sum * sum);
  return {g, std::sqrt(h2)};
}

// LayerNorm with scores scaled by 1/sqrt(dim), where the source calls 1/h what is h here. The
// exponentials are taken relative to e^s, so that they cannot overflow.
Factors layernorm_factors(double i, double alpha, bool residual, double dim) {
  const double r = residual ? 1 : 0, s = std::sqrt(dim);
  const double other = std::exp(s * (alpha - 1));  // e^(alpha s) / e^s
  const double sum = 1 + (i - 1) * other;          // D_i / e^s
  const double h2 = r * r + 2 * r * alpha + alpha + (1 - alpha) * (2 * r + other) / sum +
                    (1 - alpha) * (1 - other) / (sum * sum);
  const double g = (1 + r) * (1 + r) * alpha + (1 + r) * (1 - alpha) * other / sum;
  return {s * g, std::sqrt(h2)};
}

void require_closed_form(const ParameterFreeSpec& spec) {
  const auto refuse = [](const std::string& option, const std::string& expected) {
    throw UsageError(
        fmt::format("{}: the closed form of the second layer holds for {} only", option, expected));
  };
  if (spec.mask.kind != Mask::Kind::causal) refuse("--mask " + spec.mask.text(), "--mask causal");
  if (spec.rope_theta) refuse(fmt::format("--rope {}", *spec.rope_theta), "--rope none");
  const bool layernorm = spec.norm == Norm::layernorm;
  if (!layernorm && spec.norm != Norm::l2) {
    refuse("--norm " + to_string(spec.norm), "--norm l2 and layernorm");
  }
  const ScoreScale scale = layernorm ? ScoreScale::inv_sqrt_dim : ScoreScale::none;
  if (spec.score_scale != scale) {
    refuse(
        "--score-scale " + to_string(spec.score_scale),
        fmt::format("--score-scale {} (with --norm {})", to_string(scale), to_string(spec.norm)));
  }
  // Without a residual the first norm makes the input norm irrelevant.
  const double input_norm = layernorm ? std::sqrt(static_cast<double>(spec.dim)) : 1;
  if (spec.residual && std::abs(spec.input_norm - input_norm) > 1e-6 * input_norm) {
    refuse(fmt::format("--input-norm {}", spec.input_norm),
           fmt::format("--input-norm {} (with --norm {})", input_norm, to_string(spec.norm)));
  }
}

}  // namespace

Matrix<double> closed_form_layer2(const ParameterFreeSpec& spec) {
  spec.validate();
  require_closed_form(spec);
  const auto n = static_cast<std::size_t>(spec.n);
  std::vector<Factors> factors;
  for (std::size_t i = 0; i < n; ++i) {
    const double position = static_cast<double>(i + 1);
    factors.push_back(spec.norm == Norm::l2
                          ? l2_factors(position, spec.alpha, spec.residual)
                          : layernorm_factors(position, spec.alpha, spec.residual, spec.dim));
  }
  const double own = spec.norm == Norm::l2 ? 1 : std::sqrt(static_cast<double>(spec.dim));
  Matrix<double> scores(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      scores(i, j) = j > i    ? std::numeric_limits<double>::quiet_NaN()
                     : j == i ? own
                              : factors[i].g / (factors[i].h * factors[j].h);
    }
  }
  return scores;
}

}  // namespace poslens
