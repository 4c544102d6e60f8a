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

// Norms of length s on both sides of the residual connection, weighted r: s = 1 for L2, sqrt(dim)
// for LayerNorm with scores scaled by 1/sqrt(dim); the source calls 1/h what is h here. For s = 1
// and r = 1 or 0 these are the paper's g(i) and h(i), multiplied out. The exponentials are taken
// relative to e^s, so that they cannot overflow.
Factors factors_of(double i, double alpha, double r, double s) {
  const double other = std::exp(s * (alpha - 1));  // e^(alpha s) / e^s
  const double sum = 1 + (i - 1) * other;          // D_i / e^s, the softmax denominator
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
  if (spec.mask_of(0).kind != Mask::Kind::causal || spec.mask_of(1).kind != Mask::Kind::causal) {
    refuse("--mask " + spec.mask_text(), "--mask causal");
  }
  if (spec.rope_theta) refuse(fmt::format("--rope {}", *spec.rope_theta), "--rope none");
  if (spec.alibi_slope) refuse(fmt::format("--alibi {}", *spec.alibi_slope), "--alibi none");
  if (!spec.token_groups.empty()) {
    refuse("--alpha " + spec.alpha_text(), "one alpha for all tokens");
  }
  if (spec.markov != 0) refuse(fmt::format("--markov {}", spec.markov), "--markov 0");
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
  if (spec.residual != 0 && std::abs(spec.input_norm - input_norm) > 1e-6 * input_norm) {
    refuse(fmt::format("--input-norm {}", spec.input_norm),
           fmt::format("--input-norm {} (with --norm {})", input_norm, to_string(spec.norm)));
  }
}

}  // namespace

Matrix<double> closed_form_layer2(const ParameterFreeSpec& spec) {
  spec.validate();
  require_closed_form(spec);
  const auto n = static_cast<std::size_t>(spec.n);
  const double own = spec.norm == Norm::l2 ? 1 : std::sqrt(static_cast<double>(spec.dim));
  std::vector<Factors> factors;
  for (std::size_t i = 0; i < n; ++i) {
    factors.push_back(factors_of(static_cast<double>(i + 1), spec.alpha, spec.residual, own));
  }
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
