#pragma once
// The scored pairs of a map, and least squares over them in O(n) per step.

#include <cstdint>
#include <vector>

#include "poslens/decomposition.h"
#include "poslens/matrix.h"

namespace poslens {

// The pairs 0 <= i - window < j < i < n: the whole triangle when window >= n. Row i has keys
// first_key(i)..i-1. (Keys left out in front only shift the origin; see scored_part.)
struct Triangle {
  std::int64_t n = 0;
  std::int64_t window = 0;  // 3 <= window <= n

  std::int64_t first_key(std::int64_t row) const { return row < window ? 0 : row - window + 1; }
  std::int64_t pairs() const;
};

// Cuts rows and keys before support.first_key off.
std::vector<MatrixView<const float>> scored_part(const std::vector<MatrixView<const float>>& groups,
                                                 Support support);

// The scored pairs of maps that scored_part() has cut. Throws Error when shapes differ, when there
// are too few positions, or when the visible pairs are neither the triangle nor a band of it.
Triangle find_triangle(const std::vector<MatrixView<const float>>& groups);

// Sums of a map, its row means taken off, over its diagonals and keys.
struct MarginalSums {
  std::vector<double> row_means;  // [n]; 0 for row 0
  std::vector<double> diagonals;  // [n] by i - j; element 0 unused
  std::vector<double> keys;       // [n] by j; element n - 1 unused
  double squares = 0;
};
MarginalSums marginal_sums(MatrixView<const float> map, const Triangle& triangle);

enum class Space { row, relative, key, both };  // g; f+g; h+g; f+g+h

// Coefficients of a fit, determined up to the directions that change no fitted value. The fitted
// value at (i, j) is relative[i - j] + key[j] - offset[i], its mean over each row zero.
struct Fit {
  std::vector<double> relative;  // [n]
  std::vector<double> key;       // [n]
  std::vector<double> offset;    // [n]
};

// Solves the normal equations of the row-centred map by conjugate gradients. f and h overlap in
// constants and linear trends, so the system is singular but consistent, which conjugate gradients
// take in their stride (Kaasschieter, J. Comput. Appl. Math. 24, 1988).
class LeastSquares {
 public:
  explicit LeastSquares(const Triangle& triangle);

  Fit fit(const MarginalSums& sums, Space space) const;

 private:
  // x = (f, h) -> the diagonal and key sums of its row-centred map: one step is a few prefix sums.
  void apply(const std::vector<double>& x, std::vector<double>& result) const;
  // Row means of the map (f, h).
  std::vector<double> row_means(const std::vector<double>& x) const;

  Triangle triangle_;
  std::vector<double> diagonal_;  // [2 n] of the operator; 0 where a coefficient is unused
};

}  // namespace poslens
