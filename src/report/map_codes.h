#pragma once
// A map in one byte per value, for a picture in a page.

#include <cstdint>
#include <string>
#include <vector>

#include "poslens/matrix.h"

namespace poslens {

// Code 0..254 stands for a value on a scale of three straight pieces: the colour range takes 230
// steps, each tail outside of it 12, so that one outlier does not cost the picture its colours.
// 255 is NaN. report.js decodes the same way.
struct MapCodes {
  double low = 0;         // code 0: the smallest value
  double range_low = 0;   // code 12: where the colours start
  double range_high = 1;  // code 242: where they end
  double high = 1;        // code 254: the largest value
  bool triangle = false;  // codes of keys j <= i only; all others are NaN
  std::vector<std::uint8_t> codes;
};

MapCodes encode_map(MatrixView<const float> map);
// NaN for 255.
double decode_value(const MapCodes& map, std::uint8_t code);

std::string base64(const std::vector<std::uint8_t>& bytes);

}  // namespace poslens
