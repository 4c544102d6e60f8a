#pragma once
// What must happen: closed forms for layer 2 and the mean-field (large-dim) recursion for any
// layer. Sources and check values: docs/theory.md; arXiv 2509.21042.

#include <functional>
#include <vector>

#include "poslens/matrix.h"
#include "poslens/parameter_free.h"
#include "poslens/score_map.h"

namespace poslens {

// Scores of the second layer (number 1 in files) in closed form, [n, n], NaN above the diagonal.
// Defined for the causal mask without rotary encoding and one alpha for all tokens: the L2 norm
// with scale 1, and LayerNorm with scale 1/sqrt(dim); with a residual only for inputs whose norm is
// that of the norm's output, 1 and sqrt(dim). spec.layer_count does not matter. Throws UsageError
// naming the first option outside of that.
Matrix<double> closed_form_layer2(const ParameterFreeSpec& spec);

// Scores of every layer in the limit of large dim, from the recursion on the Gram matrix G of X:
//   S = scale hs^2 G_ij / (s_i s_j) c(i-j) + slope (j - i),  s_i = sqrt(G_ii),
//   A = softmax(mask(S)),  M = A diag(hs / s) + r I,  G <- M G M^T,  r the residual weight,
// G at first input_norm^2 times the correlation of the inputs (1 on the diagonal),
// hs = 1 for the L2 norm, sqrt(dim) for LayerNorm and RMSNorm (no norm: hs / s = 1), c as in
// rotary_mean_factor, slope that of ALiBi. One [n, n] matrix per layer; every pair is filled,
// masked or not. The first form hands on layer by layer and keeps four such matrices at a time.
void mean_field(const ParameterFreeSpec& spec,
                const std::function<void(int layer, Matrix<double> scores)>& take);
std::vector<Matrix<double>> mean_field_scores(const ParameterFreeSpec& spec);

// The mean field as an artefact (source theory, stage scaled, or biased with ALiBi). count is 1
// where the mask lets the pair through. Throws Error when a score does not fit into 32-bit floats
// (without a norm).
ScoreMap mean_field_map(const ParameterFreeSpec& spec);

// closed_form_layer2 as an artefact with layers [1].
ScoreMap closed_form_map(const ParameterFreeSpec& spec);

}  // namespace poslens
