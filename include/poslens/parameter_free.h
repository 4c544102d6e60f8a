#pragma once
// The parameter-free Transformer of arXiv 2509.21042, as data: theory and simulation both take it.
// One layer, X [n, dim], no weights:
//   Y = Norm(X);  S_ij = scale * <R(y_i), R(y_j)> + slope (j - i);  A = softmax(mask(S));
//   X <- A Y + r X.
// Its inputs, before they get their norm X, with independent standard normal vectors g_i, c and
// c_g:
//   z_i = g_i + l c,  l = sqrt(alpha / (1 - alpha));
//   z_i = g_i + sqrt(B / (1 - alpha)) c + sqrt((alpha - B) / (1 - alpha)) c_g  for tokens of a
//   group
//         g with alpha of its own, B between groups;
//   z_0 = g_0,  z_i = rho z_(i-1) + sqrt(1 - rho^2) g_i  for Markov inputs.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "poslens/mask.h"
#include "poslens/matrix.h"
#include "poslens/rotary.h"

namespace poslens {

enum class Norm {
  l2,         // y = x / |x|
  layernorm,  // y = (x - mean) / std, no weights, eps 1e-12; |y| = sqrt(dim)
  rmsnorm,    // y = x / rms(x); |y| = sqrt(dim)
  none,
};
enum class ScoreScale { none, inv_sqrt_dim, inv_dim };
enum class Inputs {
  sphere,    // x_i = X z_i / |z_i|
  gaussian,  // x_i = X z_i sqrt(1 - alpha) / sqrt(dim): mean square norm X^2
};

// Tokens whose inputs have a vector of their own in common.
struct TokenGroup {
  double alpha = 0;            // E<x_i, x_j> / X^2 within the group, i != j; in [0, 1)
  std::vector<int> positions;  // from 0, ascending
};

struct ParameterFreeSpec {
  std::int64_t n = 50;  // tokens
  int dim = 64;
  int layer_count = 4;
  // E<x_i, x_j> / X^2, i != j; in [0, 1). With token groups, of the tokens that are in none of
  // them: one more group.
  double alpha = 0;
  std::vector<TokenGroup> token_groups;
  double alpha_between = 0;  // B, between groups: 0 to the smallest alpha of a group with tokens
  double markov = 0;         // rho, in (-1, 1): E<x_i, x_j> / X^2 = rho^|i-j|; 0: no Markov inputs
  Norm norm = Norm::l2;
  ScoreScale score_scale = ScoreScale::none;
  Inputs inputs = Inputs::sphere;
  double input_norm = 1;             // X
  double residual = 1;               // r, 0 to 1000; 0: no residual connection
  std::optional<double> rope_theta;  // no rotary encoding R when empty
  int rotary_dim = 0;                // even; the first rotary_dim coordinates turn. 0: all
  RopeScaling rope_scaling;
  std::optional<double> alibi_slope;  // of ALiBi, in (0, 1000]; no bias when empty
  Mask mask;
  std::map<int, Mask> layer_masks;  // layer (from 0) -> its mask, where it is not `mask`

  const Mask& mask_of(int layer) const;
  // No query sees a later key in any layer.
  bool is_causal() const;
  // The text that --mask takes: strided:2, or causal,full@1-3.
  std::string mask_text() const;

  // The text that --alpha takes: 0.2, or 0.2@0-24,0.6@25-49.
  std::string alpha_text() const;
  // The group of every token: 0 where no token group names it, else 1 + its place in token_groups.
  std::vector<std::size_t> group_of_tokens() const;
  // alpha of that group.
  double alpha_of_group(std::size_t group) const {
    return group == 0 ? alpha : token_groups[group - 1].alpha;
  }
  // Correlation of the inputs, [n, n]: E<x_i, x_j> / X^2 for large dim, and for Gaussian inputs at
  // any; 1 on the diagonal.
  Matrix<double> input_correlation() const;

  // The rotary encoding that these options stand for.
  std::optional<RotarySpec> rotary() const;

  // The number that score_scale stands for.
  double scale() const;

  // Throws UsageError naming the option, the value and what is allowed.
  void validate() const;
  // Option names and values, for Provenance.
  std::vector<std::pair<std::string, std::string>> options() const;
};

Norm parse_norm(const std::string& text);               // l2, layernorm, rmsnorm, none
ScoreScale parse_score_scale(const std::string& text);  // none, inv-sqrt-dim, inv-dim
Inputs parse_inputs(const std::string& text);           // sphere, gaussian
std::string to_string(Norm norm);
std::string to_string(ScoreScale scale);
std::string to_string(Inputs inputs);

}  // namespace poslens
