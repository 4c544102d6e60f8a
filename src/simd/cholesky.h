#pragma once
// Symmetric positive definite systems in double precision, on Highway with dynamic dispatch.

#include <cstddef>
#include <span>

#include "poslens/matrix.h"

namespace poslens::simd {

// Solves A x = b in place of b, A given by its lower triangle row after row, in whose place comes
// the factor L of A = L L^T (Cholesky). NaN where A is not positive definite to rounding.
// a.size() is triangle_size(b.size()). n^3 / 3 operations.
void solve_positive_definite(std::span<double> a, std::span<double> b);

// The scalar twin.
void simple_solve_positive_definite(std::span<double> a, std::span<double> b);

}  // namespace poslens::simd
