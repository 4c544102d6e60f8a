#pragma once
// What an analysis writes beside its maps and figures.

#include <span>
#include <string>

#include "poslens/analysis.h"

namespace poslens {

struct ResultFile {
  const char* name;
  std::string (*text)(const Analysis& analysis);
};

// In the order in which they are written, the report last.
std::span<const ResultFile> result_files();

}  // namespace poslens
