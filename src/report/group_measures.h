#pragma once
// What is measured from the groups of all cells together: effects, and curves with their errors.

#include <filesystem>

#include "poslens/analysis.h"

namespace poslens {

// Where the groups of a cell are kept; see GroupFile.
std::filesystem::path group_file(const std::filesystem::path& folder, const Cell& cell);

// Fills curves of each cell and the effects of the two-by-two design from the group files of the
// folder. Layers run in parallel; each holds the groups of four cells at a time. Throws Error when
// a file is missing or damaged.
void measure_groups(const std::filesystem::path& folder, Analysis& analysis);

}  // namespace poslens
