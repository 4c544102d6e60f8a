#pragma once
// Exact sums over some of a run's blocks: of a shard, of a run so far, or of all of it. They travel
// in ScoreMap::sums, so that files of parts are artefacts like any other.

#include <string>
#include <vector>

#include "poslens/score_map.h"
#include "simulation/block_set.h"
#include "simulation/totals.h"

namespace poslens {

struct Part {
  explicit Part(const Plan& plan);
  BlockSet blocks;
  std::vector<Totals> groups;  // one without groups
  double seconds = 0;          // spent on it
};

// The sums in the form of ScoreMap::sums.
std::map<std::string, std::vector<std::int64_t>> pack(const Part& part);
// Back again. Throws Error when something is missing or of another size, naming it.
Part unpack(const Plan& plan, const ScoreMap& map);

}  // namespace poslens
