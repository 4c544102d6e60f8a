#include "poslens/estimate.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace poslens {

Estimate jackknife(double value, std::vector<double> leave_one_out) {
  Estimate estimate{value};
  const auto groups = static_cast<double>(leave_one_out.size());
  if (leave_one_out.size() >= 2) {
    double mean = 0;
    for (const double one : leave_one_out) mean += one / groups;
    double squares = 0;
    for (const double one : leave_one_out) squares += (one - mean) * (one - mean);
    const double error = std::sqrt((groups - 1) / groups * squares);
    if (std::isfinite(error)) estimate.standard_error = error;
  }
  estimate.leave_one_out = std::move(leave_one_out);
  return estimate;
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

Estimate ratio(const Estimate& numerator, const Estimate& denominator) {
  return combine({&numerator, &denominator}, [](std::span<const double> of) {
    return of[1] > 0 ? of[0] / of[1] : std::numeric_limits<double>::quiet_NaN();
  });
}

}  // namespace poslens
