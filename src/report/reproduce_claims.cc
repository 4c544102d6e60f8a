#include "report/reproduce_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "poslens/closed_form.h"
#include "poslens/theory.h"

namespace poslens {
namespace {

constexpr double kAlphas[] = {0,   0.01, 0.05, 0.1, 0.2, 0.3,  0.4,
                              0.5, 0.6,  0.7,  0.8, 0.9, 0.95, 0.99};
constexpr const char* kGrid =
    "n 2 to 1000; alpha 0 0.01 0.05 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 0.95 0.99";
constexpr std::int64_t kLargest = 1000;  // n

ClosedFormFactors factors(std::int64_t position, double alpha, bool residual) {
  return closed_form_factors(static_cast<double>(position), alpha, residual);
}

// The following give the first n at which the claim fails, 0 when it does not.

std::int64_t h_decreases(double alpha, bool residual) {
  for (std::int64_t i = 2; i <= kLargest; ++i) {
    if (!(factors(i, alpha, residual).h < factors(i - 1, alpha, residual).h)) return i;
  }
  return 0;
}

std::int64_t scores_increase(double alpha, bool residual) {
  ParameterFreeSpec spec;
  spec.n = kLargest;
  spec.alpha = alpha;
  spec.residual = residual;
  const Matrix<double> scores = closed_form_layer2(spec);
  for (std::size_t i = 1; i < scores.rows(); ++i) {
    for (std::size_t j = 1; j <= i; ++j) {
      if (!(scores(i, j) > scores(i, j - 1))) return static_cast<std::int64_t>(i + 1);
    }
  }
  return 0;
}

// What g tends to: 4 alpha with the residual, alpha without.
double limit_of_g(double alpha, bool residual) { return (residual ? 4 : 1) * alpha; }

// g saturates when it comes closer to a positive limit with every position. With alpha = 0 its
// limit is 0, and it fades instead.
std::int64_t g_saturates(double alpha, bool residual) {
  const double limit = limit_of_g(alpha, residual);
  const auto distance = [&](std::int64_t i) {
    return std::abs(factors(i, alpha, residual).g - limit);
  };
  for (std::int64_t i = 2; i <= kLargest; ++i) {
    if (!(limit > 0 && distance(i) < distance(i - 1))) return i;
  }
  return 0;
}

// The first position where g is within 10 % of its limit; none up to the largest n: 0.
std::int64_t saturated_from(double alpha, bool residual) {
  const double limit = limit_of_g(alpha, residual);
  for (std::int64_t i = 1; i <= kLargest; ++i) {
    if (std::abs(factors(i, alpha, residual).g - limit) <= 0.1 * limit) return i;
  }
  return 0;
}

std::string saturation_by_alpha(bool residual) {
  std::string text = "; within 10 % of its limit from position";
  const char* separator = " ";
  for (const double alpha : {0.01, 0.1, 0.5, 0.9}) {
    const std::int64_t from = saturated_from(alpha, residual);
    text += fmt::format("{}{} (alpha {})", separator,
                        from == 0 ? fmt::format("beyond {}", kLargest) : fmt::format("{}", from),
                        alpha);
    separator = ", ";
  }
  return text;
}

Claim check(std::string statement, bool residual,
            const std::function<std::int64_t(double alpha, bool residual)>& first_failure) {
  std::vector<ClaimFailure> failures;
  for (const double alpha : kAlphas) failures.push_back({alpha, first_failure(alpha, residual)});
  const bool holds = std::all_of(failures.begin(), failures.end(),
                                 [](const ClaimFailure& failure) { return failure.first_n == 0; });
  return {std::move(statement), kGrid, holds, where_claim_holds(failures)};
}

}  // namespace

std::string where_claim_holds(const std::vector<ClaimFailure>& failures) {
  std::string text;
  for (const ClaimFailure& failure : failures) {
    if (failure.first_n == 0) continue;
    text += fmt::format("{} alpha {} (n >= {})", text.empty() ? "fails for" : ",", failure.alpha,
                        failure.first_n);
  }
  return text.empty() ? "holds everywhere" : text;
}

std::vector<Claim> check_claims() {
  std::vector<Claim> claims;
  for (const bool residual : {true, false}) {
    const char* name = residual ? "A.1, residual" : "A.2, no residual";
    const char* prime = residual ? "" : "'";
    claims.push_back(
        check(fmt::format("{}: h{}(i) strictly decreases", name, prime), residual, h_decreases));
    claims.push_back(check(fmt::format("{}: S_ij strictly increases in j for j <= i", name),
                           residual, scores_increase));
    claims.push_back(check(
        fmt::format("{}: g{}(i) saturates, at {}alpha > 0", name, prime, residual ? "4 " : ""),
        residual, g_saturates));
    claims.back().where += saturation_by_alpha(residual);
  }
  return claims;
}

}  // namespace poslens
