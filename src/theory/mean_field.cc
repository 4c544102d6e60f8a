#include "poslens/theory.h"

namespace poslens {

ScoreMap mean_field_map(const ParameterFreeSpec& spec) { return ScoreMap::sized({0}, spec.n); }

}  // namespace poslens
