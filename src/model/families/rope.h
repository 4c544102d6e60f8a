#pragma once
// Rotary encodings as config.json (transformers 4 and 5) and GGUF files state them.

#include <string_view>

#include "model/families/reader.h"

namespace poslens {

// What a family takes for keys that are not there.
struct RopeDefaults {
  double theta = 1e4;
  bool partial = false;  // partial_rotary_factor is read
  double partial_factor = 1;
  int original_positions = 0;  // original_max_position_embeddings; 0: max_position_embeddings
  bool yarn_is_longrope = false;
  Name theta_key{"rope_theta", "rope.freq_base"};
  std::string_view partial_key = "partial_rotary_factor";
};

// Gives attention (its head_dim set) the rotary encoding of the whole model.
void read_rope(Reader& reader, const RopeDefaults& defaults, AttentionSpec& attention);

// The same where full and sliding layers have encodings of their own, rope_parameters being nested;
// rope_scaling belongs to the full layers. Keys of the other kind are left alone.
void read_layer_rope(Reader& reader, const RopeDefaults& defaults, bool full,
                     AttentionSpec& attention);

}  // namespace poslens
