#pragma once
// Rotary position embedding (Su et al., arXiv 2104.09864): angles shared by models and simulation.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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

// Which coordinates of a head turn together.
enum class RotaryPairs {
  halves,       // (k, k + rotary_dim / 2)
  interleaved,  // (2k, 2k + 1)
};

// inv_k for each pair; [rotary_dim / 2]. Computed in double, as exact as the inputs allow.
std::vector<double> inverse_frequencies(const RotarySpec& spec);

// How a rotary encoding is stretched beyond the length that it was trained for.
struct RopeScaling {
  enum class Kind {
    none,
    linear,    // positions divided by the factor
    ntk,       // theta' = theta factor^(rd / (rd - 2)): NTK-aware
    dynamic,   // the same with factor s/original - (factor - 1), s = max(length, original)
    llama3,    // wavelengths above original/low_frequency times the factor, below
               // original/high_frequency kept, between them interpolated
    yarn,      // arXiv 2309.00071: from pair floor(corr(beta_fast)) to ceil(corr(beta_slow)) from
               // kept to divided by the factor, cos and sin times 0.1 ln factor + 1, where
               // corr(r) = rd ln(original / (2 pi r)) / (2 ln theta)
    longrope,  // arXiv 2402.13753: pair k divided by short_factors[k] up to the original length and
               // by long_factors[k] beyond; cos and sin times sqrt(1 + ln factor / ln original)
  };
  Kind kind = Kind::none;
  double factor = 1;
  double original = 0;  // length; dynamic, llama3, yarn and longrope
  double low_frequency = 1, high_frequency = 4;
  double beta_fast = 32, beta_slow = 1;
  bool truncate = true;                                // yarn: round the pairs to whole numbers
  std::vector<float> short_factors{}, long_factors{};  // longrope, [rotary_dim / 2]
  std::optional<double> attention_factor{};  // yarn and longrope; in place of the formula's

  bool operator==(const RopeScaling&) const = default;

  // none, linear:F, ntk:F, dynamic:F:L, llama3:F:L or yarn:F:L, factor and original length at least
  // 1. Throws UsageError naming the text.
  static RopeScaling parse(std::string_view text);
  // That parse() takes (longrope apart); frequencies, betas and lists are not in it.
  std::string text() const;
};

// The spec that scaling makes of an unscaled one, for sequences of this length (the highest
// position
// + 1). ntk and dynamic need rotary_dim > 2, yarn theta > 1, longrope factors for each pair.
RotarySpec scaled(RotarySpec spec, const RopeScaling& scaling, std::int64_t length);

// 0.1 mscale ln factor + 1, or 1 when the factor is at most 1.
double yarn_attention_factor(double factor, double mscale = 1);

// cos and sin of position first + p, times the attention factor; [n, rotary_dim / 2] each. Angles
// are products of f32 numbers, as transformers computes them.
struct RotaryTable {
  Matrix<float> cosine;
  Matrix<float> sine;
};
RotaryTable rotary_table(const RotarySpec& spec, std::int64_t first_position, std::int64_t n);

// Mean-field factor of a rotary encoding on isotropic inputs: the expectation of q_i . k_j,
// relative to unrotated vectors, at offset t:
// c(t) = (2 attention_factor^2 sum_k cos(t inv_k) + dim - rotary_dim) / dim.
double rotary_mean_factor(const RotarySpec& spec, int dim, std::int64_t offset);

}  // namespace poslens
