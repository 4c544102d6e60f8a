#pragma once
// report.html: an analysis as one self-contained page.

#include <string>

#include "poslens/analysis.h"

namespace poslens {

// The whole page: the answer, key numbers, curves, heat maps of the first four layers, every number
// of every layer, and how it was measured. Needs no network; a few megabytes at most.
// heading: of a page of maps; empty: of an analysis, with its answer.
std::string html_report(const Analysis& analysis, const std::string& heading = "");

}  // namespace poslens
