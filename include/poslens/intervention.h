#pragma once
// Changes to the model under study: functions ModelSpec -> ModelSpec. The decoder knows none of
// them.

#include <string>
#include <string_view>
#include <vector>

#include "poslens/model_spec.h"

namespace poslens {

// One parsed intervention:
//   position=none | rope=none | rope=theta:X | mask=causal|full|window:W|prefix:K, each with
//     optional @LAYERS
//   positions=+K | bos=none | bos=force
// position takes away whatever encoding there is: RoPE, ALiBi, or learned positions (of all layers
// at once). LAYERS is a list such as 0-3,7, counted from 0; when absent all layers, of rope and
// position those that have an encoding.
struct Intervention {
  std::string text;         // as given
  std::string key;          // position, rope, mask, positions, bos
  std::string value;        // none, full, ...
  std::vector<int> layers;  // empty: all
};

// Throws UsageError saying what is wrong and what is allowed.
Intervention parse_intervention(std::string_view text);

// The changed model. Throws UsageError when a layer is out of range, when two interventions set the
// same thing of the same layer, or when there is no encoding to change in a layer that is named or
// in any.
ModelSpec apply(ModelSpec spec, const std::vector<Intervention>& interventions);

// What it changes in a model (as it was before), in words, for reports: "RoPE off in layers 2-5
// (counted from 0)", "learned positions off". Throws UsageError as apply does.
std::string describe(const Intervention& intervention, const ModelSpec& spec);

// 0-3,7 -> {0, 1, 2, 3, 7}: ascending and without repeats. Throws UsageError naming `option`.
std::vector<int> parse_layers(std::string_view text, std::string_view option);

}  // namespace poslens
