#pragma once

#include <span>
#include <utility>
#include <vector>

#include "poslens/figure.h"

namespace poslens {

// Colours at evenly spaced places, 0xRRGGBB, linear in between.
std::span<const unsigned> control_points(Palette palette);

// 0..1: how bright a colour of the palette looks (luma), for what is drawn over it.
double luminance(Palette palette, double x);

// The 1 % and 99 % quantiles of the finite values, as in the paper; widened when they are equal,
// 0..1 when there are none.
std::pair<double, double> colour_range(MatrixView<const float> values);

// The colour range of each panel: its own, or the quantiles that the options ask for, in the same
// manner; -1..1 of a diverging palette when there are no finite values.
std::vector<std::pair<double, double>> colour_ranges(const std::vector<Panel>& panels,
                                                     const FigureOptions& options);

}  // namespace poslens
