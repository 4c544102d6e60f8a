#pragma once
#include "poslens/parameter_free.h"

namespace poslens {

// The part of ParameterFreeSpec::validate() about --alpha, --alpha-between and --markov; n is
// valid.
void validate_inputs(const ParameterFreeSpec& spec);

}  // namespace poslens
