#pragma once
// Rotary position embedding (Su et al., arXiv 2104.09864): angles shared by models and simulation.

#include <cstdint>
#include <vector>

#include "poslens/matrix.h"

namespace poslens {

// How the angles of one attention layer arise. Pair k of rotary_dim / 2 turns by
// position * inv_k, with inv_k = theta^(-2k / rotary_dim) / (linear_factor * divisors[k]).
struct RotarySpec {
  double theta = 1e4;
  int rotary_dim = 0;             // even; the first rotary_dim coordinates of a head turn
  double linear_factor = 1;       // position interpolation
  std::vector<float> divisors{};  // [rotary_dim / 2], or none; llama3's scaling in GGUF files
  double attention_factor = 1;    // multiplies cos and sin

  bool operator==(const RotarySpec&) const = default;
};

// inv_k for each pair; [rotary_dim / 2]. Computed in double, as exact as the inputs allow.
std::vector<double> inverse_frequencies(const RotarySpec& spec);

// cos and sin of position first + p, times the attention factor; [n, rotary_dim / 2] each. Angles
// are products of f32 numbers, as transformers computes them.
struct RotaryTable {
  Matrix<float> cosine;
  Matrix<float> sine;
};
RotaryTable rotary_table(const RotarySpec& spec, std::int64_t first_position, std::int64_t n);

// Mean-field factor of a rotary encoding on isotropic inputs: the expectation of q_i . k_j,
// relative to unrotated vectors, at offset t: c(t) = (2 sum_k cos(t inv_k) + dim - rotary_dim) /
// dim.
double rotary_mean_factor(const RotarySpec& spec, int dim, std::int64_t offset);

}  // namespace poslens
