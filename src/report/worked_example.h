#pragma once
// Figure 1: the paper's worked example of three tokens.

#include <vector>

#include "poslens/reproduce.h"

namespace poslens {

inline constexpr const char* kWorkedExampleTitle =
    "Figure 1: three tokens through one layer, in closed form";

// Compares the second layer's scores with the printed ones and writes fig1-theory.npz and fig1.svg
// into options.folder.
std::vector<Comparison> reproduce_worked_example(const ReproduceOptions& options);

}  // namespace poslens
