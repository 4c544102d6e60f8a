#pragma once
// The two functions of position that layer 2's closed form is made of, as arXiv 2509.21042 states
// them: appendix A.1 with the residual (g, h), A.2 without it (g', h').

namespace poslens {

// S_ij = g(i) / (h(i) h(j)) for i > j, in the second layer, with the L2 norm, unit inputs and the
// causal mask; see closed_form_layer2() in poslens/theory.h.
struct ClosedFormFactors {
  double g = 0;
  double h = 0;
};

// position: i, counted from 1. 0 <= alpha < 1, the mean inner product of two inputs.
// With D_i = e + (i-1) e^alpha and the residual:
//   g(i) = 2 (2 alpha e + e^alpha (1 + alpha (2i-3))) / D_i,
//   h(i)^2 = [(2e + (i-1) e^alpha)^2 + 2 (2e + (i-1) e^alpha) e^alpha alpha (i-1)
//             + e^(2 alpha) (i-1) (1 + (i-2) alpha)] / D_i^2;
// without it:
//   g'(i) = (e alpha + e^alpha (1 + alpha (i-2))) / D_i,
//   h'(i)^2 = [e^2 + 2 e^(1+alpha) alpha (i-1) + e^(2 alpha) (i-1) (1 + alpha (i-2))] / D_i^2.
// Throws UsageError when position or alpha is out of range.
ClosedFormFactors closed_form_factors(double position, double alpha, bool residual);

}  // namespace poslens
