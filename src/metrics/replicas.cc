#include "metrics/replicas.h"

#include <algorithm>

namespace poslens {

void Replicas::row(std::size_t replica, std::size_t i, std::size_t first, std::size_t last,
                   std::vector<float>& out) const {
  const std::size_t left_out = replica - 1;  // of replica 0: no group
  out.assign(last - first, 0);
  if (groups_.size() == 1) {
    std::copy_n(groups_[0].row(i).data() + first, out.size(), out.data());
    return;
  }
  std::vector<double> sum(out.size(), 0);
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    if (group == left_out) continue;
    const float* scores = groups_[group].row(i).data() + first;
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += static_cast<double>(scores[j]);
  }
  const double share = 1 / static_cast<double>(groups_.size() - (replica == 0 ? 0 : 1));
  for (std::size_t j = 0; j < sum.size(); ++j) out[j] = static_cast<float>(sum[j] * share);
}

Estimate Replicas::estimate(const std::vector<double>& values) {
  return jackknife(values[0], {values.begin() + 1, values.end()});
}

}  // namespace poslens
