#pragma once
// Measures as JSON, CSV and tables. NaN (unknown) is null in JSON and empty in CSV.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "poslens/analysis.h"
#include "poslens/measures.h"

namespace poslens {

// {"value": x, "standard_error": e}, and "interval_95": [low, high] where the error is known.
nlohmann::ordered_json estimate_json(const Estimate& estimate);

// [{"layer": 0, "total": {...}, ...}, ...] with the names of named_estimates().
nlohmann::ordered_json layers_json(const std::vector<LayerMeasures>& layers);

// measures.json: every number of the report. docs/metrics.md describes it.
std::string measures_json(const Analysis& analysis);

// measures.csv: one line per cell and layer; for each measure NAME and NAME_standard_error.
std::string measures_csv(const Analysis& analysis);

// curves.csv: one line per cell, layer and bin of each curve, with intervals of 95 %.
std::string curves_csv(const Analysis& analysis);

// effects.csv: one line per layer and effect (encoding, mask, interaction), likewise.
std::string effects_csv(const Analysis& analysis);

// loss.csv: next-token cross entropy in nats, one line per position of the token that predicts, one
// column per cell; the heading alone where the run ends before the last layer.
std::string loss_csv(const Analysis& analysis);

// A table for people: a line per layer, value +- standard error; shares in percent.
std::string measures_table(const std::vector<LayerMeasures>& layers);

}  // namespace poslens
