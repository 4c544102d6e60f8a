#pragma once
// The answer's paragraph on the two-by-two design: what encoding and mask do each by itself, and
// what only together.

#include <string>
#include <utility>
#include <vector>

#include "poslens/analysis.h"

namespace poslens {

struct EffectsAnswer {
  std::string text;  // empty without effects
  // effect_share_NAME, effect_nonrelative_share_NAME and each again with _without_first_key, over
  // all layers together, nonrelative shares NaN where the effect is noise; NAME: encoding, mask,
  // interaction.
  std::vector<std::pair<std::string, Estimate>> findings;
};

EffectsAnswer answer_on_effects(const Analysis& analysis);

}  // namespace poslens
