#pragma once
// Symmetric positive definite systems in double precision, on Highway with dynamic dispatch.

#include <cstddef>
#include <span>

namespace poslens::simd {

// Elements of the lower triangle, diagonal included, of a matrix with that many rows; also the
// place where that row begins when the triangle is stored row after row.
constexpr std::size_t triangle_size(std::size_t rows) { return rows * (rows + 1) / 2; }

// Solves A x = b in place of b, A given by its lower triangle row after row, in whose place comes
// the factor L of A = L L^T (Cholesky). NaN where A is not positive definite to rounding.
// a.size() is triangle_size(b.size()). n^3 / 3 operations.
void solve_positive_definite(std::span<double> a, std::span<double> b);

// The scalar twin.
void simple_solve_positive_definite(std::span<double> a, std::span<double> b);

}  // namespace poslens::simd
