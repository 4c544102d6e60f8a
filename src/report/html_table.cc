#include <fmt/format.h>

#include "report/html_parts.h"
#include "report/numbers.h"

namespace poslens {
namespace {

// A measure in the tables of single cells.
struct Column {
  const char* heading;
  const char* meaning;
  Estimate Decomposition::*field;  // nullptr: nearness
};
constexpr Column kColumns[] = {
    {"Total", "mean square of the scores' variation over keys, score²", &Decomposition::total},
    {"Non-relative", "share not explained by distance", &Decomposition::nonrelative_share},
    {"Not by key", "share not explained by key position", &Decomposition::nonkey_share},
    {"Remainder", "share explained by neither", &Decomposition::remainder_share},
    {"Nearness", "slope against log(1 + distance); negative: near keys score higher", nullptr},
};

std::string cell_of(const Estimate& estimate, bool share, bool noise) {
  return fmt::format("<td data-value=\"{}\" data-error=\"{}\"{}>{}</td>",
                     csv_number(estimate.value), csv_number(estimate.standard_error),
                     noise ? " class=\"noise\"" : "",
                     prose(share ? format_share(estimate) : format_estimate(estimate)));
}

std::string row_of(const Decomposition& decomposition, const Estimate& nearness) {
  std::string text;
  const bool noise = !has_signal(decomposition);
  for (const Column& column : kColumns) {
    if (column.field == nullptr) {
      text += cell_of(nearness, false, false);
    } else {
      const bool share = column.field != &Decomposition::total;
      text += cell_of(decomposition.*column.field, share, noise);
    }
  }
  return text;
}

// Column 0 is the layer; sortable by a click. `name` heads it in CSV.
std::string heading(int column, const std::string& text, const std::string& name,
                    const std::string& meaning = "") {
  return fmt::format(
      "<th scope=\"col\"{}><button type=\"button\" class=\"sort\" data-column=\"{}\" "
      "data-name=\"{}\">{}</button></th>",
      meaning.empty() ? "" : fmt::format(" title=\"{}\"", escape_html(meaning)), column, name,
      text);
}

std::string csv_button(const std::string& table) {
  return fmt::format(
      "<button type=\"button\" class=\"csv\" data-table=\"{}\">Download CSV</button>", table);
}

std::string layer_cell(int layer) {
  return fmt::format("<th scope=\"row\" data-value=\"{}\">{}</th>", layer, layer + 1);
}

std::string overview(const Analysis& analysis) {
  std::string text =
      "<div class=\"scroll\"><table class=\"sortable\" id=\"nonrelative-share\"><caption>"
      "Non-relative share by layer, all keys</caption><thead><tr>" +
      heading(0, "Layer", "layer");
  for (std::size_t k = 0; k < analysis.cells.size(); ++k) {
    const std::string title = escape_html(analysis.cells[k].cell.title);
    text += heading(static_cast<int>(k) + 1, title, title);
  }
  text += "</tr></thead><tbody>\n";
  for (std::size_t place = 0; place < analysis.cells.front().layers.size(); ++place) {
    text += "<tr>" + layer_cell(analysis.cells.front().layers[place].layer);
    for (const CellResult& result : analysis.cells) {
      const Decomposition& decomposition = result.layers.at(place).all_keys;
      text += cell_of(decomposition.nonrelative_share, true, !has_signal(decomposition));
    }
    text += "</tr>\n";
  }
  return fmt::format("{}</tbody></table></div>{}\n", text, csv_button("nonrelative-share"));
}

std::string table_of(const CellResult& result) {
  const std::string id = fmt::format("measures-{}", escape_html(result.cell.name));
  const int count = static_cast<int>(std::size(kColumns));
  std::string text = fmt::format(
      "<details><summary>{}</summary><div class=\"scroll\"><table class=\"sortable\" "
      "id=\"{}\"><thead><tr class=\"over\"><td></td><th scope=\"colgroup\" colspan=\"{}\">All "
      "keys</th>"
      "<th scope=\"colgroup\" colspan=\"{}\">Without key 0</th></tr><tr>",
      escape_html(result.cell.title), id, count, count);
  text += heading(0, "Layer", "layer");
  for (int half = 0; half < 2; ++half) {
    for (int k = 0; k < count; ++k) {
      text += heading(1 + half * count + k, kColumns[k].heading,
                      fmt::format("{}{}", kColumns[k].heading, half == 0 ? "" : " without key 0"),
                      kColumns[k].meaning);
    }
  }
  text += "</tr></thead><tbody>\n";
  for (const LayerMeasures& layer : result.layers) {
    text += "<tr>" + layer_cell(layer.layer) + row_of(layer.all_keys, layer.nearness) +
            row_of(layer.without_first_key, layer.nearness_without_first_key) + "</tr>\n";
  }
  return fmt::format("{}</tbody></table></div>{}</details>\n", text, csv_button(id));
}

}  // namespace

std::string tables(const Analysis& analysis) {
  std::string text = overview(analysis);
  for (const CellResult& result : analysis.cells) text += table_of(result);
  return text;
}

}  // namespace poslens
