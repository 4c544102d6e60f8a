// Effects of maps made of known parts: a is what encoding adds, b what the mask adds, and c what
// only both together add, so that E = a + c/2, M = b + c/2 and I = c/2.
#include "poslens/factorial.h"

#include <gtest/gtest.h>

#include <cmath>

#include "metrics/support.h"
#include "poslens/error.h"

namespace poslens {
namespace {

using Maps = std::vector<Matrix<float>>;

struct Cells {
  Maps encoded_causal, encoded_full, plain_causal, plain_full;
  FactorialGroups groups() const {
    return {views(encoded_causal), views(encoded_full), views(plain_causal), views(plain_full)};
  }
};

double relative(double i, double j) { return 3 * std::exp((j - i) / 5); }
double key(double /*i*/, double j) { return std::log1p(j); }
double bent(double i, double j) { return 0.8 * std::cos(i * j / 20); }
double nothing(double /*i*/, double /*j*/) { return 0; }

constexpr std::size_t kLength = 24;

Cells make_cells(const Formula& a, const Formula& b, const Formula& c, std::size_t groups,
                 double noise, RandomStream& random) {
  const auto maps = [&](bool encoded, bool causal) {
    return noisy_groups(kLength, groups, noise, random, [&](double i, double j) {
      return 0.1 * i + (encoded ? a(i, j) : 0) + (causal ? b(i, j) : 0) +
             (encoded && causal ? c(i, j) : 0);
    });
  };
  return {maps(true, true), maps(true, false), maps(false, true), maps(false, false)};
}

// Mean square of a formula's deviations from its row means, over i > j.
double centred_square(const Formula& formula) {
  double sum = 0;
  double pairs = 0;
  for (std::size_t i = 1; i < kLength; ++i) {
    double mean = 0;
    const auto row = static_cast<double>(i);
    for (std::size_t j = 0; j < i; ++j) mean += formula(row, static_cast<double>(j)) / row;
    for (std::size_t j = 0; j < i; ++j) {
      sum += std::pow(formula(row, static_cast<double>(j)) - mean, 2);
      ++pairs;
    }
  }
  return sum / pairs;
}

TEST(FactorialEffects, AreTheDifferencesOfLevels) {
  RandomStream random(1, 0);
  const FactorialEffects effects =
      factorial_effects(make_cells(relative, key, bent, 1, 0, random).groups());
  const double encoding =
      centred_square([](double i, double j) { return relative(i, j) + bent(i, j) / 2; });
  const double mask = centred_square([](double i, double j) { return key(i, j) + bent(i, j) / 2; });
  const double interaction = centred_square([](double i, double j) { return bent(i, j) / 2; });
  EXPECT_NEAR(effects.encoding.all_keys.total.value, encoding, 1e-5);
  EXPECT_NEAR(effects.mask.all_keys.total.value, mask, 1e-5);
  EXPECT_NEAR(effects.interaction.all_keys.total.value, interaction, 1e-5);
  const double all = encoding + mask + interaction;
  EXPECT_NEAR(effects.encoding.share.value, encoding / all, 1e-5);
  EXPECT_NEAR(effects.mask.share.value, mask / all, 1e-5);
  EXPECT_NEAR(effects.interaction.share.value, interaction / all, 1e-5);
  EXPECT_GT(effects.interaction.all_keys.nonrelative_share.value, 0.5);
}

TEST(FactorialEffects, EachPartIsWhatItIsMadeOf) {
  RandomStream random(1, 0);
  const FactorialEffects effects =
      factorial_effects(make_cells(relative, key, nothing, 1, 0, random).groups());
  EXPECT_NEAR(effects.encoding.all_keys.nonrelative_share.value, 0, 1e-8);
  EXPECT_NEAR(effects.mask.all_keys.nonkey_share.value, 0, 1e-8);
  EXPECT_GT(effects.mask.all_keys.nonrelative_share.value, 0.1);
  EXPECT_NEAR(effects.interaction.share.value, 0, 1e-8);
  const double sum = effects.encoding.share_without_first_key.value +
                     effects.mask.share_without_first_key.value +
                     effects.interaction.share_without_first_key.value;
  EXPECT_NEAR(sum, 1, 1e-12);
}

TEST(FactorialEffects, AddUpToTheVariationBetweenCells) {
  RandomStream random(2, 0);
  const Cells cells = make_cells(relative, key, bent, 1, 0.2, random);
  const FactorialEffects effects = factorial_effects(cells.groups());
  double between = 0;
  for (const Maps* own :
       {&cells.encoded_causal, &cells.encoded_full, &cells.plain_causal, &cells.plain_full}) {
    const Matrix<float> deviation = make_map(kLength, [&](double i, double j) {
      const auto at = [&](const Maps& maps) {
        return static_cast<double>(
            maps[0](static_cast<std::size_t>(i), static_cast<std::size_t>(j)));
      };
      return at(*own) - (at(cells.encoded_causal) + at(cells.encoded_full) +
                         at(cells.plain_causal) + at(cells.plain_full)) /
                            4;
    });
    between += decompose({deviation.view()}, {0}).total.value;
  }
  EXPECT_NEAR(effects.encoding.all_keys.total.value + effects.mask.all_keys.total.value +
                  effects.interaction.all_keys.total.value,
              between, 1e-5);
}

// Without an interaction its estimates scatter about 0, as wide as their standard errors say.
TEST(FactorialEffects, NoiseIsNoInteraction) {
  constexpr int kRepeats = 60;
  RandomStream random(3, 0);
  double mean = 0;
  double square = 0;
  double error = 0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const FactorialEffects effects =
        factorial_effects(make_cells(relative, key, nothing, 8, 0.5, random).groups());
    const Estimate& share = effects.interaction.share;
    mean += share.value / kRepeats;
    square += share.value * share.value / kRepeats;
    error += share.standard_error / kRepeats;
  }
  const double spread = std::sqrt(square - mean * mean);
  EXPECT_LT(std::abs(mean), 4 * spread / std::sqrt(kRepeats));
  EXPECT_GT(error, 0.7 * spread);
  EXPECT_LT(error, 2 * spread);
}

TEST(FactorialEffects, NamesAllEstimates) {
  RandomStream random(4, 0);
  const FactorialEffects effects =
      factorial_effects(make_cells(relative, key, bent, 3, 0.1, random).groups());
  const auto named = named_effects(effects);
  ASSERT_EQ(named.size(), 3);
  EXPECT_EQ(named[1].first, "mask");
  EXPECT_EQ(named[1].second, &effects.mask);
  const auto estimates = named_estimates(effects.mask);
  EXPECT_EQ(estimates.front().first, "share");
  EXPECT_EQ(estimates.back().first, "diagonal_normalised_share_without_first_key");
  EXPECT_EQ(estimates.back().second, &effects.mask.without_first_key.diagonal_normalised_share);
}

TEST(FactorialEffects, NeedTheSameGroupsInEveryCell) {
  RandomStream random(5, 0);
  Cells cells = make_cells(relative, key, bent, 3, 0.1, random);
  cells.plain_full.pop_back();
  EXPECT_THROW(factorial_effects(cells.groups()), Error);
  cells = make_cells(relative, key, bent, 3, 0.1, random);
  cells.plain_causal[1] = Matrix<float>(kLength, kLength - 1);
  EXPECT_THROW(factorial_effects(cells.groups()), Error);
}

}  // namespace
}  // namespace poslens
