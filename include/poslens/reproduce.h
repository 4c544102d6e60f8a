#pragma once
// Figures of arXiv 2509.21042 made again by theory and simulation, and compared with the values
// that were published.

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace poslens {

struct ReproduceOptions {
  std::vector<std::string> targets;  // fig1, fig2, ...; see reproduce_targets()
  std::int64_t samples = 100000;     // of each simulation; the paper's number
  std::uint64_t seed = 0;
  std::filesystem::path folder;
  bool force = false;        // write into a folder that is not empty
  std::string command_line;  // for provenance

  // Throws UsageError naming the option, the value and what is allowed.
  void validate() const;
};

// One panel of a figure, made by one route.
struct Comparison {
  std::string figure;
  std::string panel;
  std::string route;  // closed form, mean field or simulation
  std::int64_t pairs = 0;
  double largest_deviation = 0;  // over all published pairs; infinite when one is missing
  double tolerance = 0;
  double standard_error = 0;  // the largest of a simulated mean; NaN for theory

  bool ok() const { return largest_deviation <= tolerance; }
};

// Name and title of everything that can be made.
std::vector<std::pair<std::string, std::string>> reproduce_targets();

// Makes the targets, in the order given: artefacts, figures and comparisons.csv go into
// options.folder, which is made. The caller decides what a comparison that is not ok() means.
std::vector<Comparison> reproduce(const ReproduceOptions& options);

}  // namespace poslens
