#pragma once
// Figures and tables of arXiv 2509.21042 (its first version, and the recency probabilities of its
// later ones) made again by theory and simulation, and compared with the values that were published
// or, where there are none, with the mean field; and its claims, checked on a grid.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace poslens {

struct ReproduceOptions {
  std::vector<std::string> targets;     // fig1, fig2, ...; see reproduce_targets()
  std::optional<std::int64_t> samples;  // of each simulation; the target's own number when empty
  std::uint64_t seed = 0;
  std::filesystem::path folder;
  bool force = false;        // write into a folder that is not empty
  std::string command_line;  // for provenance

  // Throws UsageError naming the option, the value and what is allowed.
  void validate() const;
};

enum class Quantity { scores, recency };  // mean scores, or the recency probability
std::string to_string(Quantity quantity);

// One panel of a figure, made by one route.
struct Comparison {
  std::string figure;
  std::string panel;
  Quantity quantity = Quantity::scores;
  std::string route;      // closed form, mean field or simulation
  std::string reference;  // published, mean field or exact; empty: nothing to compare with
  std::int64_t values = 0;
  double value = 0;              // the recency probability; NaN for scores
  double largest_deviation = 0;  // over all values; infinite when one is missing
  double tolerance = 0;
  // Of a simulated mean: the largest in the panel; of a recency probability: at most. NaN for
  // theory.
  double standard_error = 0;

  bool ok() const { return reference.empty() || largest_deviation <= tolerance; }
};

// A claim of the paper and where it holds.
struct Claim {
  std::string statement;
  std::string grid;    // of n and alpha
  bool holds = false;  // everywhere on the grid
  std::string where;   // in words: where it fails, and what was found
};

struct Reproduction {
  std::vector<Comparison> comparisons;
  std::vector<Claim> claims;
};

struct ReproduceTarget {
  std::string name;
  std::string title;
  std::int64_t samples = 0;  // of each simulation; 0: there is none
  double seconds = 0;        // with so many samples, about, on two cores
};

// Everything that can be made.
std::vector<ReproduceTarget> reproduce_targets();

// Makes the targets, in the order given: artefacts, figures, comparisons.csv and, for the target
// theory, claims.csv go into options.folder, which is made. The caller decides what a comparison
// that is not ok() means; a claim that does not hold everywhere is a result.
Reproduction reproduce(const ReproduceOptions& options);

}  // namespace poslens
