#include "report/analysis_state.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "poslens/atomic_file.h"
#include "poslens/error.h"
#include "report/group_measures.h"
#include "report/numbers.h"
#include "report/result_files.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "poslens-incomplete/1";

double number_of(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

// [value, standard error, without group 0, without group 1, ...]
Json to_json(const Estimate& estimate) {
  Json list = {json_number(estimate.value), json_number(estimate.standard_error)};
  for (const double value : estimate.leave_one_out) list.push_back(json_number(value));
  return list;
}

Estimate to_estimate(const Json& json) {
  Estimate estimate{number_of(json.at(0)), number_of(json.at(1))};
  for (std::size_t k = 2; k < json.size(); ++k) {
    estimate.leave_one_out.push_back(number_of(json.at(k)));
  }
  return estimate;
}

Json to_json(const CellResult& result) {
  Json layers = Json::array();
  for (const LayerMeasures& layer : result.layers) {
    Json json = {{"layer", layer.layer}};
    for (const auto& [name, estimate] : named_estimates(layer)) json[name] = to_json(*estimate);
    layers.push_back(std::move(json));
  }
  Json variation = Json::array();
  for (const Estimate& estimate : result.variation) variation.push_back(to_json(estimate));
  return {{"layers", std::move(layers)}, {"off_diagonal_variation", std::move(variation)}};
}

CellResult to_result(const Cell& cell, const Json& json) {
  CellResult result{cell, {}, {}, {}, {}};
  for (const Json& layer : json.at("layers")) {
    LayerMeasures measures;
    measures.layer = layer.at("layer").get<int>();
    for (const auto& [name, estimate] : named_estimates(measures)) {
      *estimate = to_estimate(layer.at(name));
    }
    result.layers.push_back(std::move(measures));
  }
  for (const Json& estimate : json.at("off_diagonal_variation")) {
    result.variation.push_back(to_estimate(estimate));
  }
  return result;
}

Json read(const fs::path& folder) {
  std::ifstream file(state_file(folder));
  Json json = Json::parse(file, nullptr, false);
  if (json.is_discarded() || !json.is_object() || json.value("schema", "") != kSchema ||
      !json.contains("finished") || !json.at("finished").is_object()) {
    throw Error(fmt::format("{}: expected the state of an interrupted analysis ({})",
                            state_file(folder).string(), kSchema));
  }
  return json;
}

}  // namespace

fs::path state_file(const fs::path& folder) { return folder / "incomplete.json"; }

void save_analysis_state(const fs::path& folder, const std::vector<Cell>& cells,
                         const std::vector<CellResult>& finished) {
  Json json;
  json["schema"] = kSchema;
  json["what"] = "This analysis is not finished. The same command with --resume goes on with it.";
  json["missing"] = Json::array();
  for (std::size_t k = finished.size(); k < cells.size(); ++k) {
    json["missing"].push_back(cells[k].name + ".npz");
  }
  for (const ResultFile& file : result_files()) json["missing"].push_back(file.name);
  json["finished"] = Json::object();
  for (const CellResult& result : finished) json["finished"][result.cell.name] = to_json(result);
  write_text_atomically(state_file(folder), json.dump() + "\n");
}

std::vector<CellResult> load_analysis_state(const fs::path& folder,
                                            const std::vector<Cell>& cells) {
  const Json json = read(folder);
  const Json& finished = json.at("finished");
  std::vector<CellResult> results;
  for (const Cell& cell : cells) {
    if (!finished.contains(cell.name)) break;
    try {
      results.push_back(to_result(cell, finished.at(cell.name)));
    } catch (const Json::exception& error) {
      throw Error(fmt::format("{}: finished: {}: is damaged ({})", state_file(folder).string(),
                              cell.name, error.what()));
    }
    if (!fs::exists(group_file(folder, cell))) {
      results.pop_back();
      break;
    }
  }
  return results;
}

}  // namespace poslens
