#pragma once
// Sums of squares of an expected map from maps of disjoint groups of samples.

#include <cstddef>
#include <span>
#include <vector>

#include "poslens/estimate.h"

namespace poslens {

// Collects, part by part, what the mean of <A, B> over pairs of different groups needs: the sum
// over pairs follows from each group's product with itself and with the sum of all groups.
class GroupProducts {
 public:
  explicit GroupProducts(std::size_t groups) : own_(groups, 0), with_sum_(groups, 0) {}

  // values(group): the next elements of that group's map, equally many for each.
  template <typename Values>
  void add(const Values& values) {
    sum_.assign(values(0).size(), 0);
    for (std::size_t group = 0; group < own_.size(); ++group) add_to_sum(values(group));
    for (std::size_t group = 0; group < own_.size(); ++group) {
      add_products(group, values(group));
    }
  }

  // The mean over pairs of groups of <A, B> / elements; with one group <A, A> / elements.
  Estimate mean_square(double elements) const;

 private:
  void add_to_sum(std::span<const double> values);
  void add_products(std::size_t group, std::span<const double> values);

  std::vector<double> sum_;
  std::vector<double> own_;       // <A, A>
  std::vector<double> with_sum_;  // <A, sum over groups>
};

}  // namespace poslens
