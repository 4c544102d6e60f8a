#include "metrics/group_products.h"

#include <array>
#include <utility>

namespace poslens {
namespace {

constexpr std::size_t kLanes = 8;  // independent sums, so that the compiler may use SIMD

double total(const std::array<double, kLanes>& lanes) {
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace

void GroupProducts::add_to_sum(std::span<const double> values) {
  for (std::size_t k = 0; k < values.size(); ++k) sum_[k] += values[k];
}

void GroupProducts::add_products(std::size_t group, std::span<const double> values) {
  std::array<double, kLanes> own{};
  std::array<double, kLanes> with_sum{};
  std::size_t k = 0;
  for (; k + kLanes <= values.size(); k += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      own[lane] += values[k + lane] * values[k + lane];
      with_sum[lane] += values[k + lane] * sum_[k + lane];
    }
  }
  for (; k < values.size(); ++k) {
    own[0] += values[k] * values[k];
    with_sum[0] += values[k] * sum_[k];
  }
  own_[group] += total(own);
  with_sum_[group] += total(with_sum);
}

Estimate GroupProducts::mean_square(double elements) const {
  const std::size_t groups = own_.size();
  if (groups == 1) return {own_[0] / elements};
  const auto pairs = [](std::size_t count) { return static_cast<double>(count * (count - 1)); };
  double sum = 0;
  for (std::size_t group = 0; group < groups; ++group) sum += with_sum_[group] - own_[group];
  std::vector<double> leave_one_out;
  if (groups >= 3) {
    for (std::size_t group = 0; group < groups; ++group) {
      leave_one_out.push_back((sum - 2 * (with_sum_[group] - own_[group])) /
                              (pairs(groups - 1) * elements));
    }
  }
  return jackknife(sum / (pairs(groups) * elements), std::move(leave_one_out));
}

}  // namespace poslens
