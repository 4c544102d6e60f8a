#include "simd/cholesky.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/cholesky.cc"
#include <hwy/foreach_target.h>  // compiles this file once per target
// clang-format off
#include <hwy/highway.h>

#include <cmath>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace poslens::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_HAVE_FLOAT64
// Two rows against one: of what is loaded, two products each.
void dot_pair(const double* first, const double* second, const double* row, std::size_t n,
              double* sums) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  auto a0 = hn::Zero(d), a1 = hn::Zero(d), b0 = hn::Zero(d), b1 = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto x = hn::LoadU(d, row + i), y = hn::LoadU(d, row + i + lanes);
    a0 = hn::MulAdd(hn::LoadU(d, first + i), x, a0);
    a1 = hn::MulAdd(hn::LoadU(d, first + i + lanes), y, a1);
    b0 = hn::MulAdd(hn::LoadU(d, second + i), x, b0);
    b1 = hn::MulAdd(hn::LoadU(d, second + i + lanes), y, b1);
  }
  sums[0] = hn::GetLane(hn::SumOfLanes(d, hn::Add(a0, a1)));
  sums[1] = hn::GetLane(hn::SumOfLanes(d, hn::Add(b0, b1)));
  for (; i < n; ++i) {
    sums[0] += first[i] * row[i];
    sums[1] += second[i] * row[i];
  }
}
#else
void dot_pair(const double* first, const double* second, const double* row, std::size_t n,
              double* sums) {
  sums[0] = sums[1] = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sums[0] += first[i] * row[i];
    sums[1] += second[i] * row[i];
  }
}
#endif

// Row by row: an element of L needs the rows above and what stands before it in its own row. Rows
// go in pairs, so that those above are read half as often.
void solve(double* a, double* b, std::size_t n) {
  const auto row = [&](std::size_t i) { return a + triangle_size(i); };
  double sums[2];
  for (std::size_t i = 0; i < n; i += 2) {
    const bool pair = i + 1 < n;
    double* const first = row(i);
    double* const second = pair ? row(i + 1) : first;
    for (std::size_t j = 0; j <= i; ++j) {
      dot_pair(first, second, row(j), j, sums);
      if (j == i) {
        first[j] = std::sqrt(first[j] - sums[0]);
      } else {
        first[j] = (first[j] - sums[0]) / row(j)[j];
      }
      if (pair) second[j] = (second[j] - sums[1]) / row(j)[j];
    }
    if (pair) {
      dot_pair(second, second, second, i + 1, sums);
      second[i + 1] = std::sqrt(second[i + 1] - sums[0]);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    dot_pair(b, b, row(i), i, sums);
    b[i] = (b[i] - sums[0]) / row(i)[i];
  }
  for (std::size_t i = n; i-- > 0;) {
    b[i] /= row(i)[i];
    for (std::size_t j = 0; j < i; ++j) b[j] -= row(i)[j] * b[i];
  }
}

}  // namespace poslens::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace poslens::simd {

HWY_EXPORT(solve);

void solve_positive_definite(std::span<double> a, std::span<double> b) {
  HWY_DYNAMIC_DISPATCH(solve)(a.data(), b.data(), b.size());
}

void simple_solve_positive_definite(std::span<double> a, std::span<double> b) {
  const auto at = [&](std::size_t i, std::size_t j) -> double& { return a[triangle_size(i) + j]; };
  for (std::size_t i = 0; i < b.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      for (std::size_t k = 0; k < j; ++k) at(i, j) -= at(i, k) * at(j, k);
      at(i, j) = i == j ? std::sqrt(at(i, j)) : at(i, j) / at(j, j);
    }
    for (std::size_t k = 0; k < i; ++k) b[i] -= at(i, k) * b[k];
    b[i] /= at(i, i);
  }
  for (std::size_t i = b.size(); i-- > 0;) {
    for (std::size_t k = i + 1; k < b.size(); ++k) b[i] -= at(k, i) * b[k];
    b[i] /= at(i, i);
  }
}

}  // namespace poslens::simd
#endif  // HWY_ONCE
