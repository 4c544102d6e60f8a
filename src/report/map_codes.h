#pragma once
// A map in two characters per value, for a picture in a page that can still be read in numbers.

#include <string>

#include "poslens/matrix.h"

namespace poslens {

// Code 0..4094 stands for a value on a scale of three straight pieces: the colour range takes 2048
// steps, each tail outside of it 1023, so that an outlier does not cost the others their digits and
// can be read itself.
// 4095 is NaN. A value comes back within half a step of its piece. report_values.js decodes the
// same way.
struct MapCodes {
  double low = 0;         // code 0: the smallest value
  double range_low = 0;   // code 1023: the 1 % quantile
  double range_high = 1;  // code 3071: the 99 % quantile
  double high = 1;        // code 4094: the largest value
  bool triangle = false;  // codes of keys j <= i only; all others are NaN
  std::string codes;      // two base64 digits each, the higher first
};

MapCodes encode_map(MatrixView<const float> map);
// The value at this place of the codes; NaN where it is missing.
double decode_value(const MapCodes& map, std::size_t place);

// How many codes encode_map() makes of a map of so many values per side.
std::size_t code_count(std::size_t side, bool triangle);
// Whether all values beyond the diagonal are hidden.
bool hides_later_keys(MatrixView<const float> map);

}  // namespace poslens
