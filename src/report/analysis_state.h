#pragma once
// What an analysis that was interrupted goes on from: incomplete.json in its folder. It is there as
// long as something is missing, and says what; it holds the measures of the finished cells, with
// their leave-one-out values, which measures.json does not have.

#include <filesystem>
#include <vector>

#include "poslens/analysis.h"

namespace poslens {

std::filesystem::path state_file(const std::filesystem::path& folder);

// cells: all of the analysis; finished: the first of them. Throws Error when the file cannot be
// written.
void save_analysis_state(const std::filesystem::path& folder, const std::vector<Cell>& cells,
                         const std::vector<CellResult>& finished);

// The measures of the finished cells, the first of `cells` whose groups are still there; their maps
// are not filled. Throws Error naming the file and the field when it is damaged.
std::vector<CellResult> load_analysis_state(const std::filesystem::path& folder,
                                            const std::vector<Cell>& cells);

}  // namespace poslens
