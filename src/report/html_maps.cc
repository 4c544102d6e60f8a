#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "poslens/decomposition.h"
#include "poslens/figure.h"
#include "poslens/pooling.h"
#include "report/html_parts.h"
#include "report/map_codes.h"

namespace poslens {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownLayers = 4;
constexpr std::size_t kLargestSide = 256;  // values per side

std::size_t shown_layers(const ScoreMap& map) { return std::min(kShownLayers, map.layers.size()); }

Json json_of(const MapCodes& codes) {
  return {{"low", codes.low},   {"rangeLow", codes.range_low}, {"rangeHigh", codes.range_high},
          {"high", codes.high}, {"triangle", codes.triangle},  {"codes", base64(codes.codes)}};
}

Json json_of(const ScoreMap& map, std::size_t place) {
  const std::size_t block = block_for(static_cast<std::size_t>(map.n), kLargestSide);
  const Matrix<float> raw = pool_mean(map.layer(place), block);
  const Matrix<float> normalised = pool_mean(diagonal_normalised(map.layer(place)).view(), block);
  return {{"layer", map.layers[place]},
          {"n", map.n},
          {"block", block},
          {"side", raw.rows()},
          {"samples", sample_range(map)},
          {"raw", json_of(encode_map(raw.view()))},
          {"normalised", json_of(encode_map(normalised.view()))}};
}

}  // namespace

std::string heat_maps(const Analysis& analysis) {
  std::string text =
      "<form class=\"controls\" id=\"map-controls\">"
      "<fieldset><legend>Show</legend>"
      "<label><input type=\"radio\" name=\"view\" value=\"raw\" checked> raw scores</label>"
      "<label><input type=\"radio\" name=\"view\" value=\"normalised\"> diagonal-normalised</label>"
      "</fieldset><fieldset><legend>Colours</legend>"
      "<label><input type=\"radio\" name=\"range\" value=\"own\" checked> each map its own range"
      "</label><label><input type=\"radio\" name=\"range\" value=\"shared\"> one range per layer"
      "</label></fieldset></form>\n"
      "<noscript><p>The maps are drawn by a script; the figures folder beside this page has them "
      "as pictures.</p></noscript>\n";
  std::size_t index = 0;
  for (const CellResult& result : analysis.cells) {
    text += "<section class=\"maps\"><h3>" + escape_html(result.cell.title) +
            "</h3><div class=\"row\">\n";
    for (std::size_t place = 0; place < shown_layers(result.map); ++place, ++index) {
      text += fmt::format(
          "<figure class=\"map\" data-map=\"{}\"><figcaption>layer {}</figcaption>"
          "<canvas role=\"img\" aria-label=\"{}, layer {}: mean scores by query and key\"></canvas>"
          "<div class=\"scale\"><span class=\"low\"></span><i></i><span class=\"high\"></span>"
          "</div></figure>\n",
          index, result.map.layers[place] + 1, escape_html(result.cell.title),
          result.map.layers[place] + 1);
    }
    text += "</div></section>\n";
  }
  return text + "<div id=\"tip\" role=\"status\" hidden></div>\n";
}

std::string map_data(const Analysis& analysis) {
  Json data = {{"palette", Json::array()}, {"maps", Json::array()}};
  for (int k = 0; k < 256; ++k)
    data["palette"].push_back(palette_colour(Palette::rocket, k / 255.0));
  for (const CellResult& result : analysis.cells) {
    for (std::size_t place = 0; place < shown_layers(result.map); ++place) {
      data["maps"].push_back(json_of(result.map, place));
    }
  }
  return "<script type=\"application/json\" id=\"map-data\">" + data.dump() + "</script>\n";
}

}  // namespace poslens
