#include "poslens/factorial.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "poslens/error.h"

namespace poslens {
namespace {

using Cells = std::array<const std::vector<MatrixView<const float>>*, 4>;
using Signs = std::array<int, 4>;

// Of encoded_causal, encoded_full, plain_causal, plain_full.
constexpr Signs kEncoding = {1, 1, -1, -1};
constexpr Signs kMask = {1, -1, 1, -1};
constexpr Signs kInteraction = {1, -1, -1, 1};

Cells cells_of(const FactorialGroups& groups) {
  const Cells cells = {&groups.encoded_causal, &groups.encoded_full, &groups.plain_causal,
                       &groups.plain_full};
  const std::size_t count = cells[0]->size();
  const std::size_t n = count > 0 ? cells[0]->front().rows() : 0;
  for (const auto* cell : cells) {
    const bool same_shapes = std::all_of(cell->begin(), cell->end(), [n](const auto& map) {
      return map.rows() == n && map.columns() == n;
    });
    if (cell->size() != count || !same_shapes) {
      throw Error(fmt::format(
          "factorial effects: expected maps of {} groups, {} x {}, in each of four cells", count, n,
          n));
    }
  }
  return cells;
}

// Half the signed sum of one group's four maps.
Matrix<float> contrast(const Cells& cells, std::size_t group, const Signs& signs) {
  const std::size_t n = (*cells[0])[group].rows();
  Matrix<float> result(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t cell = 0; cell < cells.size(); ++cell) {
        sum += signs[cell] * static_cast<double>((*cells[cell])[group](i, j));
      }
      result(i, j) = static_cast<float>(sum / 2);
    }
  }
  return result;
}

Effect effect_of(const Cells& cells, const Signs& signs) {
  std::vector<Matrix<float>> maps;
  std::vector<MatrixView<const float>> views;
  maps.reserve(cells[0]->size());
  for (std::size_t group = 0; group < cells[0]->size(); ++group) {
    maps.push_back(contrast(cells, group, signs));
    views.push_back(std::as_const(maps.back()).view());
  }
  return {decompose(views, {0}), decompose(views, {1}), {}, {}};
}

void add_shares(FactorialEffects& effects, Decomposition Effect::*keys, Estimate Effect::*share) {
  const std::array<Effect*, 3> all = {&effects.encoding, &effects.mask, &effects.interaction};
  for (std::size_t own = 0; own < all.size(); ++own) {
    const auto total = [&](std::size_t effect) { return &(all[effect]->*keys).total; };
    all[own]->*share = combine({total(0), total(1), total(2)}, [own](std::span<const double> of) {
      const double sum = of[0] + of[1] + of[2];
      return sum > 0 ? of[own] / sum : std::numeric_limits<double>::quiet_NaN();
    });
  }
}

}  // namespace

FactorialEffects factorial_effects(const FactorialGroups& groups) {
  const Cells cells = cells_of(groups);
  FactorialEffects effects;
  effects.encoding = effect_of(cells, kEncoding);
  effects.mask = effect_of(cells, kMask);
  effects.interaction = effect_of(cells, kInteraction);
  add_shares(effects, &Effect::all_keys, &Effect::share);
  add_shares(effects, &Effect::without_first_key, &Effect::share_without_first_key);
  return effects;
}

std::vector<std::pair<std::string, const Effect*>> named_effects(const FactorialEffects& effects) {
  return {{"encoding", &effects.encoding},
          {"mask", &effects.mask},
          {"interaction", &effects.interaction}};
}

std::vector<std::pair<std::string, const Estimate*>> named_estimates(const Effect& effect) {
  std::vector<std::pair<std::string, const Estimate*>> named;
  named.emplace_back("share", &effect.share);
  for (auto& [name, estimate] : named_estimates(effect.all_keys)) {
    named.emplace_back(std::move(name), estimate);
  }
  named.emplace_back("share_without_first_key", &effect.share_without_first_key);
  for (const auto& [name, estimate] : named_estimates(effect.without_first_key)) {
    named.emplace_back(name + "_without_first_key", estimate);
  }
  return named;
}

}  // namespace poslens
