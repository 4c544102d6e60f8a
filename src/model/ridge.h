#pragma once
// Ridge regression from sums of products, its penalty chosen on samples that the fit did not see.
//
// With features z standardised to u (mean 0, variance 1) and a target t, the weights minimise
//
//     mean (t - mean t - w . u)^2 + penalty |w|^2,
//
// so penalties are in variances of a feature, and the intercept bears none (Hoerl & Kennard,
// Technometrics 12, 1970).

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace poslens {

// From hardly any to one that leaves next to nothing of the weights.
inline constexpr std::array<double, 4> kRidgePenalties = {1e-4, 1e-2, 1, 100};

// The prediction of t is intercept + weights . z.
struct RidgeFit {
  std::vector<double> weights;
  double intercept = 0;
  double penalty = 0;
};

// The sums over samples of v v^T, v = (z_1, ..., z_width, 1, t), for two halves of the samples: the
// lower triangle, row after row, of width + 2 rows each. The penalty is that of kRidgePenalties
// whose fit to the first half has the least square error on the second; the fit is to both. All is
// NaN when no fit is finite. Features that do not vary get weight 0.
RidgeFit fit_ridge(std::span<const double> first, std::span<const double> second,
                   std::size_t width);

// Bytes that a fit takes beside its input.
std::size_t ridge_bytes(std::size_t width);

}  // namespace poslens
