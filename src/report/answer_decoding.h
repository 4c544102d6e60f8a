#pragma once
// What the answer says of one token's state: the part of it that is not about mean maps.

#include <string>
#include <utility>
#include <vector>

#include "poslens/analysis.h"

namespace poslens {

struct DecodingAnswer {
  std::string text;                                        // empty when positions were not decoded
  std::vector<std::pair<std::string, Estimate>> findings;  // decoding_r2_CELL, the largest by place
};
DecodingAnswer answer_on_decoding(const Analysis& analysis);

}  // namespace poslens
