#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "poslens/figure.h"
#include "poslens/pooling.h"
#include "report/html_parts.h"
#include "report/map_codes.h"

namespace poslens {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLargestSide = 256;  // values per side of a map that fills half a screen
constexpr std::size_t kBytesPerMap = 120;  // its JSON beside the codes
constexpr double kRounderBlock = 1.25;     // so much coarser for blocks without remainder

// What the length of a cell's codes depends on.
struct CellExtent {
  std::size_t n = 0;
  std::size_t triangles = 0;      // layers that hide later keys
  std::size_t squares = 0;        // the others
  std::size_t sample_digits = 0;  // of a number of samples; 0 where one says all
};

CellExtent extent_of(const CellResult& result) {
  CellExtent extent;
  extent.n = static_cast<std::size_t>(result.map.n);
  for (std::size_t place = 0; place < result.map.layers.size(); ++place) {
    ++(hides_later_keys(result.map.layer(place)) ? extent.triangles : extent.squares);
  }
  const auto [least, most] = sample_range(result.map);
  if (least != most) extent.sample_digits = std::to_string(most).size();
  return extent;
}

// Characters of all codes with blocks of so many values.
std::size_t characters(const std::vector<CellExtent>& cells, std::size_t block) {
  std::size_t sum = 0;
  for (const CellExtent& cell : cells) {
    const std::size_t side = (cell.n + block - 1) / block;
    if (cell.sample_digits > 0) sum += 2 * side * side * (cell.sample_digits + 1);
    sum += cell.triangles * (kBytesPerMap + 2 * code_count(side, true));
    sum += cell.squares * (kBytesPerMap + 2 * code_count(side, false));
  }
  return sum;
}

double rounded(double value) {
  return std::isfinite(value) ? std::stod(fmt::format("{:.5g}", value)) : 0;
}

Json json_of(const MapCodes& codes) {
  return {{"low", codes.low},   {"rangeLow", codes.range_low}, {"rangeHigh", codes.range_high},
          {"high", codes.high}, {"triangle", codes.triangle},  {"codes", codes.codes}};
}

Json json_of(const Curve& curve) {
  Json json = {{"first", curve.first}, {"last", curve.last}, {"value", Json::array()}};
  for (const Estimate& mean : curve.mean) {
    json["value"].push_back(rounded(mean.value));
    const double reach = confidence_interval(mean).high - mean.value;
    if (std::isfinite(reach)) json["reach"].push_back(rounded(reach));
  }
  return json;
}

// [fewest, most] samples behind the pairs of each block; only where they differ.
Json blocks_of_samples(const ScoreMap& map, std::size_t block) {
  const auto n = static_cast<std::size_t>(map.n);
  const std::size_t side = (n + block - 1) / block;
  std::vector<std::int64_t> least(side * side, 0);
  std::vector<std::int64_t> most(side * side, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const std::int64_t count = map.count[i * n + j];
      if (count == 0) continue;
      const std::size_t at = i / block * side + j / block;
      least[at] = least[at] == 0 ? count : std::min(least[at], count);
      most[at] = std::max(most[at], count);
    }
  }
  return {{"least", least}, {"most", most}};
}

Json json_of(const CellResult& result, std::size_t block) {
  const ScoreMap& map = result.map;
  const auto [least, most] = sample_range(map);
  Json json = {{"title", result.cell.title}, {"samples", {least, most}}, {"maps", Json::array()}};
  if (least != most) json["blocks"] = blocks_of_samples(map, block);
  for (std::size_t place = 0; place < map.layers.size(); ++place) {
    Json layer = json_of(encode_map(pool_mean(map.layer(place), block).view()));
    layer["byDistance"] = json_of(result.curves[place].by_distance);
    layer["byKey"] = json_of(result.curves[place].by_key);
    json["maps"].push_back(std::move(layer));
  }
  return json;
}

Json colours(Palette palette) {
  Json json = Json::array();
  for (int k = 0; k < 256; ++k) json.push_back(palette_colour(palette, k / 255.0));
  return json;
}

std::string choice(const char* name, const char* value, const char* text, const char* key,
                   bool checked) {
  return fmt::format(
      "<label><input type=\"radio\" name=\"{}\" value=\"{}\"{}><span>{} <kbd>{}</kbd></span>"
      "</label>",
      name, value, checked ? " checked" : "", text, key);
}

std::string cell_choices(const Analysis& analysis) {
  std::string text = "<fieldset class=\"cells\"><legend>Cell</legend>";
  for (std::size_t index = 0; index < analysis.cells.size(); ++index) {
    text += choice("cell", std::to_string(index).c_str(),
                   escape_html(analysis.cells[index].cell.title).c_str(),
                   index < 9 ? std::to_string(index + 1).c_str() : "", index == 0);
  }
  return text + "</fieldset>\n";
}

std::string reference_choices(const Analysis& analysis) {
  std::string text = "<label class=\"minus\">minus <select name=\"reference\">";
  for (std::size_t index = 0; index < analysis.cells.size(); ++index) {
    text += fmt::format("<option value=\"{}\">{}</option>", index,
                        escape_html(analysis.cells[index].cell.title));
  }
  return text + "</select></label>";
}

std::string controls(const Analysis& analysis) {
  return "<form class=\"controls\" id=\"map-controls\">\n" + cell_choices(analysis) +
         "<fieldset><legend>Show</legend>" + choice("view", "raw", "raw scores", "r", true) +
         choice("view", "normalised", "diagonal-normalised", "n", false) +
         (analysis.cells.size() < 2 ? "" : choice("view", "difference", "difference", "d", false)) +
         reference_choices(analysis) + "</fieldset>\n<fieldset><legend>Colours</legend>" +
         choice("range", "quantile", "each map’s 1 % to 99 %", "q", true) +
         choice("range", "shared", "the same in all layers", "s", false) +
         choice("range", "fixed", "fixed", "f", false) +
         "<label class=\"fixed\">from <input type=\"number\" step=\"any\" name=\"from\"></label>"
         "<label class=\"fixed\">to <input type=\"number\" step=\"any\" name=\"to\"></label>"
         "</fieldset>\n</form>\n";
}

constexpr const char* kKeys =
    "<p class=\"keys\">Keys: <kbd>←</kbd> <kbd>→</kbd> layer, <kbd>1</kbd> to <kbd>9</kbd> cell, "
    "<kbd>r</kbd> raw, <kbd>n</kbd> diagonal-normalised, <kbd>d</kbd> difference, <kbd>q</kbd> "
    "quantile colours, <kbd>s</kbd> the same colours in all layers, <kbd>f</kbd> fixed colours."
    "</p>\n";

}  // namespace

std::size_t block_within(const Analysis& analysis, std::size_t limit) {
  const auto n = static_cast<std::size_t>(analysis.cells.front().map.n);
  std::vector<CellExtent> cells;
  for (const CellResult& result : analysis.cells) cells.push_back(extent_of(result));
  std::size_t block = block_for(n, kLargestSide);
  while (block < n && characters(cells, block) > limit) ++block;
  for (std::size_t even = block; static_cast<double>(even) <= kRounderBlock * block; ++even) {
    if (n % even == 0) return even;
  }
  return block;
}

std::string heat_maps(const Analysis& analysis) {
  const std::vector<int>& layers = analysis.cells.front().map.layers;
  std::string text = controls(analysis) + kKeys +
                     "<noscript><p>The maps are drawn by a script; <code>poslens plot</code> makes "
                     "pictures of them.</p></noscript>\n<div class=\"browser\">\n"
                     "<div class=\"thumbs\">\n";
  for (std::size_t place = 0; place < layers.size(); ++place) {
    text += fmt::format(
        "<button type=\"button\" class=\"thumb\" data-place=\"{}\" aria-pressed=\"{}\" "
        "aria-label=\"layer {}\"><canvas></canvas><span>{}</span></button>\n",
        place, place == 0 ? "true" : "false", layers[place] + 1, layers[place] + 1);
  }
  return text +
         "</div>\n<figure id=\"large\"><figcaption></figcaption><div "
         "class=\"plot\"><canvas></canvas>"
         "<svg role=\"img\"></svg></div><p class=\"note\"></p></figure>\n</div>\n"
         "<div id=\"tip\" role=\"status\" hidden></div>\n";
}

std::string layer_curves(const Analysis& analysis) {
  std::string text = "<h3 id=\"curves-title\"></h3>\n<ul class=\"legend toggles\">";
  for (std::size_t index = 0; index < analysis.cells.size(); ++index) {
    text += fmt::format(
        "<li class=\"s{}\"><label><input type=\"checkbox\" value=\"{}\" checked> {}</label></li>",
        index % 8, index, escape_html(analysis.cells[index].cell.title));
  }
  return text +
         "</ul>\n<div class=\"charts two\">\n"
         "<figure class=\"chart\" id=\"by-distance\"><figcaption>By distance to the key"
         "</figcaption><svg role=\"img\" aria-label=\"mean score by distance\"></svg></figure>\n"
         "<figure class=\"chart\" id=\"by-key\"><figcaption>By position of the key</figcaption>"
         "<svg role=\"img\" aria-label=\"mean score by key position\"></svg></figure>\n</div>\n";
}

std::string map_data(const Analysis& analysis, std::size_t block) {
  const ScoreMap& first = analysis.cells.front().map;
  const auto n = static_cast<std::size_t>(first.n);
  Json data = {{"sequential", colours(Palette::rocket)},
               {"diverging", colours(Palette::diverging)},
               {"layers", first.layers},
               {"n", first.positions()},
               {"block", block * static_cast<std::size_t>(first.pool)},
               {"pool", first.pool},
               {"side", (n + block - 1) / block},
               {"cells", Json::array()}};
  for (const CellResult& result : analysis.cells) data["cells"].push_back(json_of(result, block));
  const std::string text = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  // Titles are text from outside: "</script>" must not end the element.
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return "<script type=\"application/json\" id=\"map-data\">" + safe + "</script>\n";
}

}  // namespace poslens
