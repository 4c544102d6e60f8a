#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "poslens/closed_form.h"
#include "poslens/error.h"
#include "poslens/theory.h"

namespace poslens {
namespace {

// The scores come from the mean field, a recursion that knows nothing of g and h.
TEST(ClosedFormFactors, MakeTheScoresOfLayerTwo) {
  for (const bool residual : {false, true}) {
    for (const double alpha : {0.0, 0.1, 0.5, 0.99}) {
      ParameterFreeSpec spec;
      spec.n = 40;
      spec.alpha = alpha;
      spec.residual = residual;
      const Matrix<double> scores = mean_field_scores(spec)[1];
      for (std::size_t i = 1; i < 40; ++i) {
        const auto query = closed_form_factors(static_cast<double>(i + 1), alpha, residual);
        for (std::size_t j = 0; j < i; ++j) {
          const auto key = closed_form_factors(static_cast<double>(j + 1), alpha, residual);
          EXPECT_NEAR(query.g / (query.h * key.h), scores(i, j), 1e-12);
        }
      }
    }
  }
}

// The first token sees itself alone: |2 x| and |x|. Far away: g -> 4 alpha, h^2 -> 1 + 3 alpha.
TEST(ClosedFormFactors, HaveTheirLimits) {
  for (const double alpha : {0.0, 0.3}) {
    EXPECT_NEAR(closed_form_factors(1, alpha, true).h, 2, 1e-15);
    EXPECT_NEAR(closed_form_factors(1, alpha, false).h, 1, 1e-15);
    EXPECT_NEAR(closed_form_factors(1e9, alpha, true).g, 4 * alpha, 1e-8);
    EXPECT_NEAR(closed_form_factors(1e9, alpha, true).h, std::sqrt(1 + 3 * alpha), 1e-8);
    EXPECT_NEAR(closed_form_factors(1e9, alpha, false).g, alpha, 1e-8);
  }
  // h' -> sqrt(alpha) only slowly when alpha is 0: 1/sqrt(i).
  EXPECT_NEAR(closed_form_factors(1e9, 0.3, false).h, std::sqrt(0.3), 1e-8);
  EXPECT_NEAR(closed_form_factors(1, 0, false).g, 1 / std::numbers::e, 1e-15);
}

TEST(ClosedFormFactors, RefuseWhatIsOutOfRange) {
  EXPECT_THROW(closed_form_factors(0, 0.5, true), UsageError);
  EXPECT_THROW(closed_form_factors(1, 1, true), UsageError);
  EXPECT_THROW(closed_form_factors(1, -0.1, false), UsageError);
}

}  // namespace
}  // namespace poslens
