#pragma once

#include <span>
#include <utility>

#include "poslens/figure.h"

namespace poslens {

// Colours at evenly spaced places, 0xRRGGBB, linear in between.
std::span<const unsigned> control_points(Palette palette);

// The 1 % and 99 % quantiles of the finite values, as in the paper; widened when they are equal,
// 0..1 when there are none.
std::pair<double, double> colour_range(MatrixView<const float> values);

}  // namespace poslens
