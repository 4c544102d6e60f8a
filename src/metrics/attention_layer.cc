#include "metrics/attention_layer.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace poslens {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? kNan : sum / static_cast<double>(values.size());
}

double minus_x_log_x(double x) { return x > 0 ? -x * std::log(x) : 0; }

// Keys up to the last visible one.
std::span<const float> visible_part(std::span<const float> values) {
  std::size_t keys = values.size();
  while (keys > 0 && std::isnan(values[keys - 1])) --keys;
  return values.first(keys);
}

// first and others from the shares' ratio on a log scale.
void set_first(AttentionRow& row, double log_first, double log_others) {
  row.first = 1 / (1 + std::exp(log_others - log_first));
  row.others = 1 / (1 + std::exp(log_first - log_others));
}

void count_keys(std::span<const float> visible, AttentionRow& row) {
  const auto shown = [](float value) -> std::size_t { return std::isnan(value) ? 0 : 1; };
  row.rest_keys = 0;
  for (std::size_t j = 1; j < visible.size(); ++j) row.rest_keys += shown(visible[j]);
  row.keys = row.rest_keys + (visible.empty() ? 0 : shown(visible[0]));
  row.rest.assign(row.rest_keys > 0 ? visible.size() - 1 : 0, 0);
  row.rest_entropy = 0;
}

}  // namespace

const std::vector<Estimate AttentionMeasures::*> kAttentionFields = {
    &AttentionMeasures::first_key,
    &AttentionMeasures::first_key_without_first_key,
    &AttentionMeasures::first_key_64,
    &AttentionMeasures::distance,
    &AttentionMeasures::distance_without_first_key,
    &AttentionMeasures::entropy,
    &AttentionMeasures::entropy_without_first_key,
    &AttentionMeasures::rollout_first_key,
    &AttentionMeasures::rollout_distance,
    &AttentionMeasures::residual_rollout_first_key,
    &AttentionMeasures::residual_rollout_distance,
    &AttentionMeasures::rollout_distance_without_first_key,
    &AttentionMeasures::residual_rollout_distance_without_first_key,
};

void softmax_row(std::span<const float> scores, AttentionRow& row) {
  const std::span<const float> visible = visible_part(scores);
  count_keys(visible, row);
  if (row.rest_keys == 0) {
    row.first = row.keys > 0 ? 1 : kNan;
    row.others = 0;
    return;
  }
  float largest = -std::numeric_limits<float>::infinity();
  for (const float score : visible.subspan(1))
    largest = std::max(largest, score);  // NaN never wins
  double sum = 0;
  double weighted = 0;
  for (std::size_t k = 0; k < row.rest.size(); ++k) {
    if (std::isnan(visible[k + 1])) continue;
    const double score = static_cast<double>(visible[k + 1]) - static_cast<double>(largest);
    row.rest[k] = std::exp(score);
    sum += row.rest[k];
    weighted += row.rest[k] * score;
  }
  for (double& share : row.rest) share /= sum;
  row.rest_entropy = std::log(sum) - weighted / sum;
  const bool hidden = row.keys == row.rest_keys;
  set_first(row,
            hidden ? -std::numeric_limits<double>::infinity() : static_cast<double>(visible[0]),
            static_cast<double>(largest) + std::log(sum));
}

void probability_row(std::span<const float> probabilities, AttentionRow& row) {
  const std::span<const float> visible = visible_part(probabilities);
  count_keys(visible, row);
  const bool hidden = row.keys == row.rest_keys;
  const double first = hidden || visible.empty() ? 0 : static_cast<double>(visible[0]);
  double sum = 0;
  for (std::size_t k = 0; k < row.rest.size(); ++k) {
    if (!std::isnan(visible[k + 1])) row.rest[k] = static_cast<double>(visible[k + 1]);
    sum += row.rest[k];
  }
  row.first = first / (first + sum);
  row.others = sum / (first + sum);
  if (!(sum > 0)) {  // all of it is on key 0: nothing is known about the others
    row.rest.clear();
    row.rest_keys = 0;
    return;
  }
  for (double& share : row.rest) {
    share /= sum;
    row.rest_entropy += minus_x_log_x(share);
  }
}

Rollout::Rollout(std::size_t n) : of_query(n) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto position = static_cast<double>(i);
    const double first = i == 0 ? 1 : 0;
    of_query[i] = {first, position, first, position, position, position};
  }
}

void Rollout::lose() {
  for (auto& lanes : of_query) lanes.fill(kNan);
}

AttentionLayer::AttentionLayer(const Rollout& below) : below_(below), rollout_(0) {}

void AttentionLayer::add(const AttentionRow& row) {
  const std::size_t i = first_key.size();
  const std::array<double, Rollout::kLanes>& own = below_.of_query[i];
  std::array<double, Rollout::kLanes> read{};  // sum over the other keys
  double rest_distance = 0;
  for (std::size_t k = 0; k < row.rest.size(); ++k) {
    const double share = row.rest[k];
    const std::array<double, Rollout::kLanes>& of_key = below_.of_query[k + 1];
    for (std::size_t lane = 0; lane < Rollout::kLanes; ++lane) read[lane] += share * of_key[lane];
    rest_distance += share * static_cast<double>(i > k + 1 ? i - k - 1 : k + 1 - i);
  }
  first_key.push_back(row.first);
  distance.push_back(row.first * static_cast<double>(i) + row.others * rest_distance);
  entropy.push_back(minus_x_log_x(row.first) + minus_x_log_x(row.others) +
                    row.others * row.rest_entropy);
  if (row.keys > 1) {
    entropies_ += entropy.back() / std::log(static_cast<double>(row.keys));
    ++entropy_rows_;
  }
  if (i > 0 && !row.rest.empty()) {
    rest_first_.push_back(row.rest[0]);
    rest_distance_.push_back(rest_distance);
    if (row.rest_keys > 1) {
      rest_entropies_ += row.rest_entropy / std::log(static_cast<double>(row.rest_keys));
      ++rest_entropy_rows_;
    }
  }

  std::array<double, Rollout::kLanes> lanes{};
  for (std::size_t lane = 0; lane < Rollout::kLanes; ++lane) {
    const bool rest = lane == Rollout::kRest || lane == Rollout::kResidualRest;
    const double value =
        rest ? read[lane] : row.first * below_.of_query[0][lane] + row.others * read[lane];
    const bool residual = lane == Rollout::kResidualFirst || lane == Rollout::kResidualPosition ||
                          lane == Rollout::kResidualRest;
    lanes[lane] = residual ? (own[lane] + value) / 2 : value;
  }
  rollout_.of_query.push_back(lanes);
}

std::vector<double> AttentionLayer::scalars() const {
  const std::size_t n = first_key.size();
  const auto sink_tokens = static_cast<std::size_t>(kSinkTokens);
  const auto after_first = [](const std::vector<double>& values) {
    return std::span(values).subspan(values.empty() ? 0 : 1);
  };
  const auto share = [](double sum, std::size_t rows) {
    return rows > 0 ? sum / static_cast<double>(rows) : kNan;
  };
  const auto rollout_first = [&](Rollout::Lane lane) {
    double sum = 0;
    for (const auto& lanes : rollout_.of_query) sum += lanes[lane];
    return share(sum, n);
  };
  const auto rollout_distance = [&](Rollout::Lane lane, std::size_t first) {
    double sum = 0;
    for (std::size_t i = first; i < n; ++i) {
      sum += static_cast<double>(i) - rollout_.of_query[i][lane];
    }
    return n > first ? share(sum, n - first) : kNan;
  };
  return {
      mean(first_key),
      mean(rest_first_),
      n < sink_tokens ? kNan : mean(std::span(first_key).first(sink_tokens)),
      mean(after_first(distance)),
      mean(after_first(rest_distance_)),
      share(entropies_, entropy_rows_),
      share(rest_entropies_, rest_entropy_rows_),
      rollout_first(Rollout::kFirst),
      rollout_distance(Rollout::kPosition, 1),
      rollout_first(Rollout::kResidualFirst),
      rollout_distance(Rollout::kResidualPosition, 1),
      rollout_distance(Rollout::kRest, 2),
      rollout_distance(Rollout::kResidualRest, 2),
  };
}

}  // namespace poslens
