#include "poslens/estimate.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace poslens {
namespace {

// Probability that |T| < sqrt(freedom) tan(angle) for Student's T: Abramowitz & Stegun, Handbook of
// Mathematical Functions (1964), 26.7.3 and 26.7.4.
double student_within(double angle, int freedom) {
  const double cosine = std::cos(angle);
  double term = freedom % 2 == 0 ? 1 : cosine;
  double sum = freedom == 1 ? 0 : term;
  for (int k = freedom % 2 == 0 ? 2 : 3; k < freedom; k += 2) {
    term *= cosine * cosine * (k - 1) / k;
    sum += term;
  }
  const double product = std::sin(angle) * sum;
  return freedom % 2 == 0 ? product : 2 / std::numbers::pi * (angle + product);
}

// The t with P(|T| < t) = level, by bisection of the angle.
double student_quantile(double level, int freedom) {
  double low = 0;
  double high = std::numbers::pi / 2;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (student_within(middle, freedom) < level ? low : high) = middle;
  }
  return std::sqrt(static_cast<double>(freedom)) * std::tan(low);
}

}  // namespace

Estimate jackknife(double value, std::vector<double> leave_one_out) {
  Estimate estimate{value};
  const auto groups = static_cast<double>(leave_one_out.size());
  if (leave_one_out.size() >= 2) {
    double mean = leave_one_out[0];  // exact where all are equal
    for (const double one : leave_one_out) mean += (one - leave_one_out[0]) / groups;
    double squares = 0;
    for (const double one : leave_one_out) squares += (one - mean) * (one - mean);
    const double error = std::sqrt((groups - 1) / groups * squares);
    if (std::isfinite(error)) estimate.standard_error = error;
  }
  estimate.leave_one_out = std::move(leave_one_out);
  return estimate;
}

Interval confidence_interval(const Estimate& estimate, double level) {
  if (!std::isfinite(estimate.standard_error)) return {};
  const int freedom = static_cast<int>(estimate.leave_one_out.size()) - 1;
  const double reach = student_quantile(level, freedom) * estimate.standard_error;
  return {estimate.value - reach, estimate.value + reach};
}

Estimate combine(const std::vector<const Estimate*>& inputs,
                 const std::function<double(std::span<const double>)>& function) {
  std::vector<double> arguments(inputs.size());
  std::transform(inputs.begin(), inputs.end(), arguments.begin(),
                 [](const Estimate* input) { return input->value; });
  const double value = function(arguments);
  const std::size_t groups = inputs.empty() ? 0 : inputs[0]->leave_one_out.size();
  if (std::any_of(inputs.begin(), inputs.end(),
                  [&](const Estimate* input) { return input->leave_one_out.size() != groups; })) {
    return {value};
  }
  std::vector<double> leave_one_out(groups);
  for (std::size_t group = 0; group < groups; ++group) {
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      arguments[k] = inputs[k]->leave_one_out[group];
    }
    leave_one_out[group] = function(arguments);
  }
  return jackknife(value, std::move(leave_one_out));
}

Estimate sum(const std::vector<const Estimate*>& inputs) {
  return combine(inputs, [](std::span<const double> of) {
    double total = 0;
    for (const double value : of) total += value;
    return total;
  });
}

Estimate ratio(const Estimate& numerator, const Estimate& denominator) {
  return combine({&numerator, &denominator}, [](std::span<const double> of) {
    return of[1] > 0 ? of[0] / of[1] : std::numeric_limits<double>::quiet_NaN();
  });
}

}  // namespace poslens
