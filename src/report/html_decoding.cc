// What one token's state tells of its position, layer by layer and cell beside cell.

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "poslens/position_decoding.h"
#include "report/html_parts.h"

namespace poslens {

std::string decoding_table(const Analysis& analysis) {
  std::vector<PositionDecoding> decodings;
  for (const CellResult& result : analysis.cells) {
    decodings.push_back(position_decoding(result.map));
    if (decodings.back().rows.size() != decodings.front().rows.size()) return {};
  }
  if (decodings.empty() || decodings.front().rows.empty()) return {};
  const PositionDecoding& first = decodings.front();
  std::string text = fmt::format(
      "<div class=\"scroll\"><table><caption>R² of a linear fit of the position to the state, and "
      "its mean error in positions; of {} positions one guessed at random is {:.1f} off, the "
      "middle {:.1f}</caption><thead><tr><th scope=\"col\">State</th>",
      first.positions, first.chance, first.middle);
  for (const CellResult& result : analysis.cells) {
    text += fmt::format("<th scope=\"col\">{}</th>", escape_html(result.cell.title));
  }
  text += "</tr></thead><tbody>\n";
  for (std::size_t place = 0; place < first.rows.size(); ++place) {
    text += fmt::format("<tr><th scope=\"row\">{} {}</th>",
                        first.rows[place].leaves ? "after layer" : "into layer",
                        first.rows[place].layer + 1);
    for (const PositionDecoding& decoding : decodings) {
      const PositionDecoding::Row& row = decoding.rows[place];
      text += fmt::format("<td>{}<br>{}</td>", format_estimate(row.r2), format_estimate(row.error));
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

}  // namespace poslens
