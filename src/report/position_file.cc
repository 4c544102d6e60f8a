#include "report/position_file.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "report/measures_file.h"

namespace poslens {
namespace {

using Json = nlohmann::ordered_json;

// value, standard error and the ends of the interval, each after a comma.
std::string columns(const Estimate& estimate) {
  const Interval interval = confidence_interval(estimate);
  std::string text;
  for (const double value :
       {estimate.value, estimate.standard_error, interval.low, interval.high}) {
    text += std::isfinite(value) ? fmt::format(",{:.9g}", value) : ",";
  }
  return text;
}

}  // namespace

Json position_json(const PositionDecoding& decoding) {
  if (decoding.rows.empty()) return nullptr;
  Json json = {{"from", decoding.of_scores ? "scores" : "states"},
               {"positions", decoding.positions},
               {"chance_error", decoding.chance},
               {"middle_error", decoding.middle},
               {"layers", Json::array()}};
  for (const PositionDecoding::Row& row : decoding.rows) {
    json["layers"].push_back({{"layer", row.layer},
                              {"leaves", row.leaves},
                              {"r2", estimate_json(row.r2)},
                              {"error", estimate_json(row.error)}});
  }
  return json;
}

std::string decoding_csv(const Analysis& analysis) {
  std::string text =
      "cell,layer,place,r2,r2_standard_error,r2_low,r2_high,error,error_standard_error,error_low,"
      "error_high,chance_error,middle_error\n";
  for (const CellResult& result : analysis.cells) {
    const PositionDecoding decoding = position_decoding(result.map);
    for (const PositionDecoding::Row& row : decoding.rows) {
      text += fmt::format("{},{},{}{}{},{:.9g},{:.9g}\n", result.cell.name, row.layer,
                          row.leaves ? "leaves" : "enters", columns(row.r2), columns(row.error),
                          decoding.chance, decoding.middle);
    }
  }
  return text;
}

}  // namespace poslens
