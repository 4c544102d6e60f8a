#include "figures/axis.h"

#include <cmath>

namespace poslens {

std::vector<double> round_ticks(double low, double high, int wanted) {
  const double rough = (high - low) / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double mantissa = rough / power;
  const double step =
      power * (mantissa < 1.5 ? 1.0 : (mantissa < 3.5 ? 2.0 : (mantissa < 7.5 ? 5.0 : 10.0)));
  std::vector<double> ticks;
  const double margin = 1e-9 * (high - low);  // keeps an end that rounding pushed outside
  const double last = std::floor((high + margin) / step);
  for (double k = std::ceil((low - margin) / step); k <= last; ++k) {
    ticks.push_back(k * step + 0.0);  // no -0
  }
  return ticks;
}

}  // namespace poslens
