#pragma once
// Position decoding as JSON and CSV. NaN (unknown) is null in JSON and empty in CSV.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "poslens/analysis.h"
#include "poslens/position_decoding.h"

namespace poslens {

// Null when the map had none; docs/metrics.md has the names.
nlohmann::ordered_json position_json(const PositionDecoding& decoding);

// decoding.csv: one line per cell and place, with chance beside it and intervals of 95 %; the
// heading alone where positions were not decoded.
std::string decoding_csv(const Analysis& analysis);

}  // namespace poslens
