#pragma once
// How much of a map is relative. Everything here compares maps modulo row functions g(i), which
// change no attention (gauge); docs/metrics.md derives it.
//
// Over the scored pairs i > j the map is fitted by least squares with nested spaces
//   g(i);   f(i-j) + g(i);   h(j) + g(i);   f(i-j) + g(i) + h(j),
// and shares are ratios of residual sums of squares. f, g and h are confounded in their linear
// parts, so shares of nested fits are reported and never three separate effects.
//
// The scored pairs are the whole triangle i > j whatever the mask (pairs above the diagonal are not
// read), or, under a window mask, its band i - j < W: the least squares then run over the band.
// Other patterns of NaN below the diagonal throw Error.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "poslens/estimate.h"
#include "poslens/matrix.h"

namespace poslens {

// Sums of squares are per scored pair (means), so that they compare across n; scores squared.
struct Decomposition {
  Estimate total;              // RSS(g) / pairs
  Estimate nonrelative;        // RSS(f+g) / pairs
  Estimate nonkey;             // RSS(h+g) / pairs
  Estimate remainder;          // RSS(f+g+h) / pairs
  Estimate nonrelative_share;  // RSS(f+g) / RSS(g); shares are NaN where RSS(g) is no more than
                               // the rounding of scores
  Estimate nonkey_share;       // RSS(h+g) / RSS(g)
  Estimate remainder_share;    // RSS(f+g+h) / RSS(g)
  // The same question asked of arXiv 2509.21042's diagonal normalisation, which knows no row
  // functions: what is left when each diagonal's mean is taken off, against the variance about one
  // mean. Adding g(i) changes these three, and a map of g(i) alone, which changes no attention, has
  // a share up to 1; they are here to compare with, the answer is nonrelative_share.
  Estimate variance;                   // RSS(constant) / pairs
  Estimate diagonal_normalised;        // RSS(f without g) / pairs
  Estimate diagonal_normalised_share;  // their ratio
};

// Its estimates with their names in tables and files.
std::vector<std::pair<std::string, const Estimate*>> named_estimates(const Decomposition& parts);

// Which pairs i > j count.
struct Support {
  std::int64_t first_key = 0;  // 1 leaves out key 0, the attention sink
};

// groups: maps of disjoint groups of samples, same shape [n, n]. With two or more groups every sum
// of squares is the mean over pairs of groups of <residual(A), residual(B)>, an unbiased estimate
// of the expected map's; with one it is ||residual||^2, inflated by sampling noise. Standard errors
// need three groups. Throws Error when n < 4 + first_key.
Decomposition decompose(const std::vector<MatrixView<const float>>& groups, Support support);

// The residual of a map after the fit of f(i-j) + g(i) over the scored pairs (NaN elsewhere).
Matrix<float> nonrelative_residual(MatrixView<const float> map, Support support);

// The paper's diagonal normalisation: each diagonal i - j = t minus its own mean over finite
// entries; NaN stays NaN. Both triangles.
Matrix<float> diagonal_normalised(MatrixView<const float> map);

// Slope of the score against log(1 + i - j), common to all rows, over the scored pairs modulo g(i);
// negative when near keys score higher.
Estimate nearness_slope(const std::vector<MatrixView<const float>>& groups, Support support);

// First-key strength (attention sink): the score of the first key less the mean score of the other
// keys before the query, averaged over the queries that see it and another key; in scores, any
// sign. Row functions drop out. With support.first_key = 1 it is that of key 1, to compare with.
Estimate first_key_excess(const std::vector<MatrixView<const float>>& groups, Support support);

// Mean square deviation from one constant over all pairs i != j with i, j >= first_key, both
// triangles: 0 for a map that is constant off the diagonal. Unbiased like decompose(). Throws Error
// when one of these pairs is hidden.
Estimate off_diagonal_variation(const std::vector<MatrixView<const float>>& groups,
                                Support support);

}  // namespace poslens
