#pragma once
// Numbers with the standard error of their estimate: the jackknife over groups of sequences
// (Efron & Stein, Annals of Statistics 9, 1981).

#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace poslens {

struct Estimate {
  double value = 0;
  double standard_error = std::numeric_limits<double>::quiet_NaN();  // NaN: unknown
  // The value without group 0, without group 1, ...; empty when it cannot be had.
  std::vector<double> leave_one_out{};
};

// The standard error from the leave-one-out values: sqrt((G-1)/G sum (v_k - mean v)^2), NaN when
// there are fewer than two or one is not finite.
Estimate jackknife(double value, std::vector<double> leave_one_out);

struct Interval {
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
};

// value +- t * standard error, with t the two-sided quantile of Student's distribution with G - 1
// degrees of freedom for G leave-one-out values: 2.36 for 8 groups and level 0.95. The jackknife's
// error is itself an estimate from G numbers, so the normal distribution's 1.96 would cover too
// little. Ends are NaN where the error is unknown. 0 < level < 1.
Interval confidence_interval(const Estimate& estimate, double level = 0.95);

// A function of estimates from the same groups, jackknifed as a whole: their common noise counts as
// it should. Without leave-one-out values in every input, or with different numbers of them, the
// standard error is NaN.
Estimate combine(const std::vector<const Estimate*>& inputs,
                 const std::function<double(std::span<const double>)>& function);

// Of one input or more.
Estimate sum(const std::vector<const Estimate*>& inputs);

// numerator / denominator; NaN when the denominator is not positive.
Estimate ratio(const Estimate& numerator, const Estimate& denominator);

}  // namespace poslens
