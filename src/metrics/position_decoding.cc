#include "poslens/position_decoding.h"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>

#include "poslens/error.h"

namespace poslens {
namespace {

std::int64_t readout_keys(const ScoreMap& map) {
  for (const auto& [name, value] : map.provenance.options) {
    if (name != "readout-keys") continue;
    std::int64_t keys = 0;
    const char* const end = value.data() + value.size();
    const auto [rest, error] = std::from_chars(value.data(), end, keys);
    if (error == std::errc() && rest == end && keys >= 0 && keys < map.n) return keys;
    throw Error(
        fmt::format("options: readout-keys: expected 0 to {}, found '{}'", map.n - 1, value));
  }
  throw Error("options: expected readout-keys beside readout_r2, found none");
}

// The estimate at a place of [size] values, and of [groups, size] ones without each group.
Estimate estimate_at(const std::vector<double>& values, const std::vector<double>& without,
                     std::size_t place) {
  std::vector<double> left_out;
  for (std::size_t at = place; at < without.size(); at += values.size()) {
    left_out.push_back(without[at]);
  }
  return jackknife(values[place], std::move(left_out));
}

}  // namespace

PositionDecoding position_decoding(const ScoreMap& map) {
  PositionDecoding decoding;
  if (!map.decoding_r2.empty() && !map.decoding_error.empty()) {
    decoding.positions = map.positions() - 1;
    for (std::size_t place = 0; place <= map.layers.size(); ++place) {
      const bool leaves = place == map.layers.size();
      decoding.rows.push_back(
          {map.layers[leaves ? place - 1 : place], leaves,
           estimate_at(map.decoding_r2, map.decoding_r2_leave_one_out, place),
           estimate_at(map.decoding_error, map.decoding_error_leave_one_out, place)});
    }
  } else if (!map.readout_r2.empty() && !map.readout_error.empty()) {
    decoding.of_scores = true;
    decoding.positions = map.n - readout_keys(map);
    for (std::size_t place = 0; place < map.layers.size(); ++place) {
      decoding.rows.push_back(
          {map.layers[place], false, {map.readout_r2[place]}, {map.readout_error[place]}});
    }
  }
  const auto m = static_cast<double>(decoding.positions);
  if (decoding.positions > 0) {
    decoding.chance = (m * m - 1) / (3 * m);
    decoding.middle = decoding.positions % 2 == 0 ? m / 4 : (m * m - 1) / (4 * m);
  }
  return decoding;
}

}  // namespace poslens
