#pragma once
// What positional encoding and mask each do to a map, and what they do only together: the effects
// of the two-by-two design {encoding on, off} x {causal, full mask}.
//
// With S_ec, S_ef, S_nc, S_nf for the maps with (e) and without (n) encoding under the causal (c)
// and the full (f) mask, over the scored pairs i > j,
//   encoding    E = ((S_ec + S_ef) - (S_nc + S_nf)) / 2
//   mask        M = ((S_ec + S_nc) - (S_ef + S_nf)) / 2
//   interaction I = ((S_ec - S_ef) - (S_nc - S_nf)) / 2
// so that each cell is the mean of the four +- E/2 +- M/2 +- I/2, and their sums of squares modulo
// row functions add up to the variation between cells: sum over cells |S - mean|^2 =
// |E|^2 + |M|^2 + |I|^2 (Fisher, The Design of Experiments, 1935). An effect's share is its part of
// that sum. Everything is estimated without bias from groups of samples, as decompose() does.

#include <string>
#include <utility>
#include <vector>

#include "poslens/decomposition.h"
#include "poslens/matrix.h"

namespace poslens {

struct Effect {
  Decomposition all_keys;  // of the effect's map: how much of it is not relative, ...
  Decomposition without_first_key;
  Estimate share;  // of the three effects' totals together; NaN where these are no signal
  Estimate share_without_first_key;
};

struct FactorialEffects {
  int layer = 0;
  Effect encoding;
  Effect mask;
  Effect interaction;
};

// Maps [n, n] of the same groups of samples in each cell. Pairs that the mask hides in one cell
// count in none.
struct FactorialGroups {
  std::vector<MatrixView<const float>> encoded_causal;
  std::vector<MatrixView<const float>> encoded_full;
  std::vector<MatrixView<const float>> plain_causal;
  std::vector<MatrixView<const float>> plain_full;
};

// Throws Error when the cells differ in groups or shapes, and where decompose() does.
FactorialEffects factorial_effects(const FactorialGroups& cells);

// The effects with their names in tables and files: encoding, mask, interaction.
std::vector<std::pair<std::string, const Effect*>> named_effects(const FactorialEffects& effects);

// Every estimate of an effect: share, total, nonrelative, ..., and each again with
// _without_first_key.
std::vector<std::pair<std::string, const Estimate*>> named_estimates(const Effect& effect);

}  // namespace poslens
