#include "poslens/alibi.h"

#include <bit>
#include <cmath>

namespace poslens {

std::vector<double> alibi_slopes(int heads) {
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(heads)));
  std::vector<double> slopes;
  for (int h = 1; h <= power; ++h) slopes.push_back(std::exp2(-8.0 * h / power));
  for (int h = 1; power + (h + 1) / 2 <= heads; h += 2) {
    slopes.push_back(std::exp2(-4.0 * h / power));
  }
  return slopes;
}

}  // namespace poslens
