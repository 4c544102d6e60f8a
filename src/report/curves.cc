#include "poslens/curves.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "poslens/threads.h"

namespace poslens {
namespace {

struct Sums {
  std::vector<double> sum;
  std::vector<double> pairs;
};

struct Profiles {
  Sums distance;
  Sums key;
};

// Of all visible pairs j <= i, by bin.
Profiles profiles(MatrixView<const float> map, const std::vector<std::size_t>& bin_of,
                  std::size_t bins) {
  Profiles result;
  for (Sums* sums : {&result.distance, &result.key}) {
    sums->sum.assign(bins, 0);
    sums->pairs.assign(bins, 0);
  }
  for (std::size_t i = 0; i < map.rows(); ++i) {
    double total = 0;
    double visible = 0;
    for (std::size_t j = 0; j <= i; ++j) {
      if (!std::isfinite(map(i, j))) continue;
      total += map(i, j);
      ++visible;
    }
    if (visible == 0) continue;
    const double mean = total / visible;
    for (std::size_t j = 0; j <= i; ++j) {
      if (!std::isfinite(map(i, j))) continue;
      const double score = map(i, j) - mean;
      result.distance.sum[bin_of[i - j]] += score;
      ++result.distance.pairs[bin_of[i - j]];
      if (i == j) continue;
      result.key.sum[bin_of[j]] += score;
      ++result.key.pairs[bin_of[j]];
    }
  }
  return result;
}

Curve curve_of(const Profiles& mean, const std::vector<Profiles>& groups, Sums Profiles::*which,
               const std::vector<std::int64_t>& ends) {
  Curve curve;
  const auto count = static_cast<double>(groups.size());
  for (std::size_t bin = 0; bin < ends.size(); ++bin) {
    const auto value_of = [&](const Profiles& one) {
      return (one.*which).sum[bin] / (one.*which).pairs[bin];
    };
    if ((mean.*which).pairs[bin] == 0) continue;
    double sum = 0;
    for (const Profiles& group : groups) sum += value_of(group);
    std::vector<double> leave_one_out;
    if (groups.size() > 1) {
      for (const Profiles& group : groups) {
        leave_one_out.push_back((sum - value_of(group)) / (count - 1));
      }
    }
    curve.first.push_back(bin == 0 ? 0 : ends[bin - 1] + 1);
    curve.last.push_back(ends[bin]);
    curve.mean.push_back(jackknife(value_of(mean), std::move(leave_one_out)));
  }
  return curve;
}

}  // namespace

std::vector<std::int64_t> bin_ends(std::int64_t n, int bins) {
  std::vector<std::int64_t> ends;
  const double ratio = std::pow(static_cast<double>(n), 1.0 / std::max(1, bins));
  for (std::int64_t last = 0;;) {
    ends.push_back(last);
    if (last + 1 >= n) break;
    const auto grown = static_cast<std::int64_t>(static_cast<double>(last + 1) * ratio) - 1;
    last = std::min(n - 1, std::max(last + 1, grown));
  }
  return ends;
}

LayerCurves curves_of(MatrixView<const float> mean,
                      const std::vector<MatrixView<const float>>& groups, int bins) {
  const std::vector<std::int64_t> ends = bin_ends(static_cast<std::int64_t>(mean.rows()), bins);
  std::vector<std::size_t> bin_of(mean.rows());
  for (std::size_t at = 0, bin = 0; at < bin_of.size(); ++at) {
    if (static_cast<std::int64_t>(at) > ends[bin]) ++bin;
    bin_of[at] = bin;
  }
  std::vector<Profiles> of_groups;
  of_groups.reserve(groups.size());
  for (const auto& group : groups) of_groups.push_back(profiles(group, bin_of, ends.size()));
  const Profiles all = profiles(mean, bin_of, ends.size());
  return {curve_of(all, of_groups, &Profiles::distance, ends),
          curve_of(all, of_groups, &Profiles::key, ends)};
}

std::vector<LayerCurves> curves_of(const ScoreMap& map) {
  std::vector<LayerCurves> curves(map.layers.size());
  parallel_for(curves.size(), [&](std::size_t place, int /*worker*/) {
    curves[place] = curves_of(map.layer(place), map.group_layers(place));
  });
  return curves;
}

}  // namespace poslens
