#pragma once
// meta.json of an artefact, read back. Writing it is meta_json() in poslens/score_map.h.

#include <string_view>

#include "poslens/score_map.h"

namespace poslens {

// Fills source, stage and provenance. Throws Error naming the field that is wrong.
void read_meta(std::string_view text, ScoreMap& map);

}  // namespace poslens
