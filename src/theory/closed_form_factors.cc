#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "poslens/closed_form.h"
#include "poslens/error.h"

namespace poslens {

ClosedFormFactors closed_form_factors(double position, double alpha, bool residual) {
  if (!(position >= 1)) throw UsageError(fmt::format("position {}: expected 1 or more", position));
  if (!(alpha >= 0 && alpha < 1)) {
    throw UsageError(fmt::format("alpha {}: expected 0 <= alpha < 1", alpha));
  }
  constexpr double e = std::numbers::e;
  const double ea = std::exp(alpha);
  const double before = position - 1;  // keys before the query
  const double sum = e + before * ea;  // D_i
  // |sum over the keys before of e^alpha x_j|^2
  const double others = ea * ea * before * (1 + alpha * (before - 1));
  if (residual) {
    const double own = 2 * e + before * ea;
    const double h2 = (own * own + 2 * own * ea * alpha * before + others) / (sum * sum);
    return {2 * (2 * alpha * e + ea * (1 + alpha * (2 * position - 3))) / sum, std::sqrt(h2)};
  }
  const double h2 = (e * e + 2 * e * ea * alpha * before + others) / (sum * sum);
  return {(e * alpha + ea * (1 + alpha * (before - 1))) / sum, std::sqrt(h2)};
}

}  // namespace poslens
