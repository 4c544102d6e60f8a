#include "report/answer_decoding.h"

#include <fmt/format.h>

#include <algorithm>

#include "poslens/position_decoding.h"
#include "report/words.h"

namespace poslens {
namespace {

using Row = PositionDecoding::Row;

Row best(const PositionDecoding& decoding) {
  return *std::max_element(decoding.rows.begin(), decoding.rows.end(),
                           [](const Row& a, const Row& b) { return a.r2.value < b.r2.value; });
}

}  // namespace

DecodingAnswer answer_on_decoding(const Analysis& analysis) {
  DecodingAnswer answer;
  for (const CellResult& result : analysis.cells) {
    const PositionDecoding decoding = position_decoding(result.map);
    if (decoding.rows.empty()) return {};
    answer.findings.emplace_back("decoding_r2_" + result.cell.name, best(decoding).r2);
  }
  const auto r2 = [&](bool encoded, bool causal) {
    return with_error(best(position_decoding(analysis.cell(encoded, causal).map)).r2);
  };
  const PositionDecoding own = position_decoding(analysis.cell(true, true).map);
  const Row row = best(own);
  answer.text = fmt::format(
      "In one sequence, a linear fit to a token's state tells its position with R² {} where that "
      "is "
      "largest ({} layer {}): it is off by {} of {} positions in the mean, a guess of the middle "
      "by "
      "{:.1f} and one at random by {:.1f}. The largest R² is {} without {}, {} without the causal "
      "mask "
      "and {} without both.",
      with_error(row.r2), row.leaves ? "after" : "into", row.layer + 1, with_error(row.error),
      own.positions, own.middle, own.chance, r2(false, true), analysis.encoding.name,
      r2(true, false), r2(false, false));
  return answer;
}

}  // namespace poslens
