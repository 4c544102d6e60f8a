// Approximate functions of the simulation's kernels: relative errors over the ranges they state, on
// every instruction set of this processor.
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simulation/lanes_test.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "simulation/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace poslens::HWY_NAMESPACE {
namespace {

// values[i] <- function(values[i]); 64 lanes of padding.
template <typename Function>
void Apply(std::vector<float>& values, const Function& function) {
  const FloatTag d;
  values.resize(values.size() + 64);
  for (std::size_t i = 0; i + 64 <= values.size(); i += hn::Lanes(d)) {
    hn::StoreU(function(hn::LoadU(d, &values[i])), d, &values[i]);
  }
  values.resize(values.size() - 64);
}

// NOLINTBEGIN(readability-identifier-naming): Highway's style
void Exp2(std::vector<float>& values) {
  Apply(values, [](FloatLanes x) HWY_ATTR { return FastExp2(x); });
}
void ExpOfUnit(std::vector<float>& values) {
  Apply(values, [](FloatLanes x) HWY_ATTR { return FastExpOfUnit(x); });
}
void Reciprocal(std::vector<float>& values) {
  Apply(values, [](FloatLanes x) HWY_ATTR { return FastReciprocal(x); });
}
void ReciprocalSqrt(std::vector<float>& values) {
  Apply(values, [](FloatLanes x) HWY_ATTR { return FastReciprocalSqrt(x); });
}
void Sqrt(std::vector<float>& values) {
  Apply(values, [](FloatLanes x) HWY_ATTR { return FastSqrt(x); });
}
// NOLINTEND(readability-identifier-naming)

}  // namespace
}  // namespace poslens::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "support/highway_targets.h"

namespace poslens {
namespace {

HWY_EXPORT(Exp2);
HWY_EXPORT(ExpOfUnit);
HWY_EXPORT(Reciprocal);
HWY_EXPORT(ReciprocalSqrt);
HWY_EXPORT(Sqrt);

constexpr int kPoints = 300000;

std::vector<float> evenly(double from, double to) {
  std::vector<float> points;
  for (int i = 0; i <= kPoints; ++i) {
    points.push_back(static_cast<float>(from + (to - from) * i / kPoints));
  }
  return points;
}

std::vector<float> geometrically(double from, double to) {
  std::vector<float> points;
  for (int i = 0; i <= kPoints; ++i) {
    points.push_back(static_cast<float>(from * std::pow(to / from, double{1} * i / kPoints)));
  }
  return points;
}

void check(double bound, const std::vector<float>& points,
           const std::function<void(std::vector<float>& values)>& found,
           const std::function<double(double)>& expected) {
  test::for_each_target([&](std::int64_t) {
    std::vector<float> values = points;
    found(values);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double exact = expected(points[i]);
      ASSERT_NEAR(values[i] / exact, 1, bound) << "at " << points[i];
    }
  });
}

TEST(Lanes, PowersOfTwo) {
  check(
      3e-7, evenly(-126, 126),
      [](auto& x) {
        HWY_DYNAMIC_DISPATCH(Exp2)
        (x);
      },
      [](double x) { return std::exp2(x); });
}

TEST(Lanes, ExponentialsOfScoresUpToOne) {
  check(
      4e-7, evenly(-1, 1),
      [](auto& x) {
        HWY_DYNAMIC_DISPATCH(ExpOfUnit)
        (x);
      },
      [](double x) { return std::exp(x); });
}

TEST(Lanes, Reciprocals) {
  check(
      3e-7, geometrically(1.1e-30, 0.9e30),
      [](auto& x) {
        HWY_DYNAMIC_DISPATCH(Reciprocal)
        (x);
      },
      [](double x) { return 1 / x; });
}

TEST(Lanes, Roots) {
  const std::vector<float> points = geometrically(1.1e-30, 0.9e30);
  check(
      3e-7, points,
      [](auto& x) {
        HWY_DYNAMIC_DISPATCH(Sqrt)
        (x);
      },
      [](double x) { return std::sqrt(x); });
  check(
      3e-7, points,
      [](auto& x) {
        HWY_DYNAMIC_DISPATCH(ReciprocalSqrt)
        (x);
      },
      [](double x) { return 1 / std::sqrt(x); });
}

TEST(Lanes, TheRootOfZeroIsNearZero) {
  test::for_each_target([](std::int64_t) {
    std::vector<float> values = {0};
    HWY_DYNAMIC_DISPATCH(Sqrt)(values);
    EXPECT_NEAR(values[0], 0, 1e-14);
  });
}

}  // namespace
}  // namespace poslens
#endif  // HWY_ONCE
