#pragma once
// Numbers in files: NaN (unknown) is null in JSON and empty in CSV.

#include <nlohmann/json.hpp>
#include <string>

#include "poslens/estimate.h"

namespace poslens {

nlohmann::ordered_json json_number(double value);

// Nine digits, which single precision needs.
std::string csv_number(double value);

// The value, its standard error and the ends of its 95 % interval, with commas between them.
std::string csv_estimate(const Estimate& estimate);

}  // namespace poslens
