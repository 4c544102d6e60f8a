#pragma once
// The report of an analysis as one HTML file.

#include <string>

#include "poslens/analysis.h"

namespace poslens {

// Self-contained: no other file and no network is needed to read it.
std::string html_report(const Analysis& analysis);

}  // namespace poslens
