#pragma once
// The measures of maps as `poslens metrics` shows them: tables by subject, and JSON of everything.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "poslens/measures.h"
#include "poslens/position_decoding.h"

namespace poslens::cli {

// That of position_table().
inline constexpr const char* kPositionSubject = "position";

// Subjects of tables, in their order: decomposition, order, first-key, ..., position.
std::vector<std::string> measure_subjects();

// The subject `position`, of single samples: one line for what enters each layer and one for what
// leaves the last. Empty when the map has none.
std::string position_table(const PositionDecoding& decoding);

// One line per layer and, where the subject has them, one below without the first key. Measures
// that are unknown in every layer are left out; empty when all are. heads: [layer][head] for lines
// of heads, or empty.
std::string subject_table(const std::string& subject, const std::vector<LayerMeasures>& layers,
                          const std::vector<std::vector<LayerMeasures>>& heads);

// layers_json() with `by_position` and, where there are any, `heads` in each layer.
nlohmann::ordered_json all_measures_json(const std::vector<LayerMeasures>& layers,
                                         const std::vector<std::vector<LayerMeasures>>& heads);

}  // namespace poslens::cli
