#pragma once
// How far a map is from what the parameter-free Transformer's mean field (theory.h) predicts for
// its layer, with the correlation of inputs and the size of scores fitted.

#include <cstdint>
#include <vector>

#include "poslens/estimate.h"
#include "poslens/parameter_free.h"
#include "poslens/score_map.h"

namespace poslens {

// The positions compared: under causal masks, those before them do not depend on later ones.
constexpr std::int64_t kMeanFieldPositions = 128;

// S_ij = s P_ij(alpha) + g(i) + residual over the scored pairs (decomposition.h) of the first
// kMeanFieldPositions positions, by least squares over s >= 0, alpha in 0..0.95 and g. P between
// 0, 0.1, ..., 0.9 and 0.95 is interpolated linearly. Unbiased by groups as in decompose(), but for
// the fit of alpha.
struct MeanFieldDistance {
  // NaN where P has no shape (the first layer; a full mask), or none with s > 0 helps.
  Estimate alpha;
  Estimate unexplained;        // RSS / pairs, scores squared
  Estimate unexplained_share;  // RSS / RSS(g): 0 is the mean field, 1 nothing of it; NaN where
                               // RSS(g) is no more than the rounding of scores
};
struct MeanFieldDistances {
  MeanFieldDistance all_keys;
  MeanFieldDistance without_first_key;  // queries and keys from 1 on
};

// The model that predicts a map: the options of its own run for theory and simulation (norm, scale,
// residual, inputs' norm, RoPE, ALiBi), else L2 norm with residual connection, without encoding, as
// in arXiv 2509.21042. Throws Error naming an option whose value is none.
ParameterFreeSpec mean_field_model(const ScoreMap& map);

// One per layer; the masks are the map's. All NaN for pooled maps, for runs with
// --rope-scaling and for layers after the 64th.
// Throws Error like decompose().
std::vector<MeanFieldDistances> mean_field_distances(const ScoreMap& map);

}  // namespace poslens
