#pragma once
// What an interrupted run goes on from: its sums so far, to the bit. docs/formats.md describes the
// file.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "poslens/score_map.h"

namespace poslens {

// A view of one of the run's own sums.
struct StateArray {
  std::string name;
  std::variant<std::span<float>, std::span<double>> values;
};

struct RunState {
  std::int64_t done = 0;  // pieces of work that the sums cover
  std::vector<StateArray> arrays;
};

// Writes the state; see write_atomically. provenance: of the run, with the seconds spent so far.
// Nothing is copied. Throws Error when the file cannot be written.
void save_state(const Provenance& provenance, const RunState& state,
                const std::filesystem::path& path);

// Fills the arrays and `done` from a file; returns the seconds that were spent. Throws Error naming
// the file and the field when it is of another run (see check_same_run; the shard must be the same
// too), or damaged.
double load_state(const Provenance& expected, RunState& state, const std::filesystem::path& path);

}  // namespace poslens
