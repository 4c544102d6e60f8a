#include "simulation/totals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "poslens/error.h"

namespace poslens {
namespace {

constexpr double kQuanta = 0x1p24;  // in the largest value of one sample

}  // namespace

Totals::Totals(const Plan& plan) : plan_(&plan), recency_(plan.layers), monotone_(plan.layers) {
  for (std::size_t layer = 0; layer < plan.layers; ++layer) {
    const double bound = plan.score_bound(layer);
    score_bounds_.push_back(bound);
    square_bounds_.push_back(bound * bound);
    prob_bounds_.push_back(1);
  }
  const std::size_t size = plan.layers * plan.score_count;
  scores_.resize(size);
  if (plan.options.variance) squares_.resize(size);
  if (plan.options.probs) probs_.resize(size);
  if (!plan.options.hidden_geometry) return;
  for (std::size_t layer = 0; layer <= plan.layers; ++layer) {
    norm_bounds_.push_back(plan.norm_bound(layer));
    cosine_bounds_.push_back(1);
  }
  hidden_norms_.resize((plan.layers + 1) * plan.n);
  hidden_cosines_.resize((plan.layers + 1) * triangle_size(plan.n));
}

std::int64_t Totals::bytes(const Plan& plan) {
  const SimulationOptions& options = plan.options;
  std::size_t values = plan.layers * plan.score_count *
                       (std::size_t{1} + (options.variance ? 1 : 0) + (options.probs ? 1 : 0));
  if (options.hidden_geometry) values += (plan.layers + 1) * (plan.n + triangle_size(plan.n));
  return static_cast<std::int64_t>(values * sizeof(std::int64_t));
}

void Totals::add(const std::vector<double>& sums, const std::vector<double>& bounds,
                 std::vector<std::int64_t>& totals) const {
  if (totals.empty()) return;
  const ParameterFreeSpec& spec = plan_->options.spec;
  for (std::size_t layer = 0; layer < plan_->layers; ++layer) {
    const double quanta = kQuanta / bounds[layer];
    for (std::size_t query = 0; query < plan_->n; ++query) {
      const KeyRange keys =
          spec.mask_of(static_cast<int>(layer)).keys(static_cast<std::int64_t>(query), spec.n);
      for (std::int64_t key = keys.first; key < keys.last; key += keys.step) {
        const std::size_t at = index(layer, query, static_cast<std::size_t>(key));
        if (!std::isfinite(sums[at])) {
          throw Error(
              fmt::format("layer {}: the scores grow beyond 32-bit floats; use a norm, "
                          "fewer layers or a smaller --input-norm",
                          layer));
        }
        totals[at] += std::llrint(sums[at] * quanta);
      }
    }
  }
}

void Totals::add_hidden(const std::vector<double>& sums, const std::vector<double>& bounds,
                        std::vector<std::int64_t>& totals) const {
  for (std::size_t layer = 0; layer < bounds.size(); ++layer) {
    const std::size_t size = totals.size() / bounds.size();
    for (std::size_t at = layer * size; at < (layer + 1) * size; ++at) {
      if (!std::isfinite(sums[at])) {
        throw Error(
            fmt::format("layer {}: its residual stream grows beyond 32-bit floats; use a norm, "
                        "fewer layers or a smaller --input-norm",
                        layer));
      }
      totals[at] += std::llrint(sums[at] * (kQuanta / bounds[layer]));
    }
  }
}

void Totals::add(const BlockSums& sums, std::int64_t samples) {
  add(sums.scores, score_bounds_, scores_);
  add(sums.squares, square_bounds_, squares_);
  add(sums.probs, prob_bounds_, probs_);
  add_hidden(sums.hidden_norms, norm_bounds_, hidden_norms_);
  add_hidden(sums.hidden_cosines, cosine_bounds_, hidden_cosines_);
  for (std::size_t layer = 0; layer < plan_->layers; ++layer) {
    recency_[layer] += sums.recency[layer];
    monotone_[layer] += sums.monotone[layer];
  }
  samples_[0] += samples;
}

void Totals::add(const Totals& other) {
  for (const Sum& sum : sums()) {
    std::vector<std::int64_t>& to = this->*sum.values;
    const std::vector<std::int64_t>& from = other.*sum.values;
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
  }
}

void Totals::clear() {
  for (const Sum& sum : sums()) {
    std::fill((this->*sum.values).begin(), (this->*sum.values).end(), 0);
  }
}

double Totals::score(std::size_t layer, std::size_t query, std::size_t key) const {
  const auto sum = static_cast<double>(scores_[index(layer, query, key)]);
  return sum * (score_bounds_[layer] / kQuanta) / static_cast<double>(samples());
}

double Totals::probability(std::size_t layer, std::size_t query, std::size_t key) const {
  return static_cast<double>(probs_[index(layer, query, key)]) / kQuanta /
         static_cast<double>(samples());
}

double Totals::hidden_norm(std::size_t layer, std::size_t position) const {
  const auto sum = static_cast<double>(hidden_norms_[layer * plan_->n + position]);
  return sum * (norm_bounds_[layer] / kQuanta) / static_cast<double>(samples());
}

double Totals::hidden_cosine(std::size_t layer, std::size_t position, std::size_t other) const {
  const std::size_t pair = triangle_size(std::max(position, other)) + std::min(position, other);
  const std::size_t at = layer * triangle_size(plan_->n) + pair;
  return static_cast<double>(hidden_cosines_[at]) / kQuanta / static_cast<double>(samples());
}

double Totals::variance(std::size_t layer, std::size_t query, std::size_t key) const {
  const auto count = static_cast<double>(samples());
  const double mean = score(layer, query, key);
  const double squares =
      static_cast<double>(squares_[index(layer, query, key)]) * (square_bounds_[layer] / kQuanta);
  return std::max(0.0, (squares - count * mean * mean) / (count - 1));
}

}  // namespace poslens
