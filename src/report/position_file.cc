#include "report/position_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/measures_file.h"
#include "report/numbers.h"

namespace poslens {

using Json = nlohmann::ordered_json;

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
      text += fmt::format("{},{},{},{},{},{},{}\n", result.cell.name, row.layer,
                          row.leaves ? "leaves" : "enters", csv_estimate(row.r2),
                          csv_estimate(row.error), csv_number(decoding.chance),
                          csv_number(decoding.middle));
    }
  }
  return text;
}

}  // namespace poslens
