#pragma once
// Works through the blocks of a run, or of a shard of it, on all threads.

#include <functional>

#include "simulation/part.h"

namespace poslens {

// Adds the blocks of the range that part lacks. Blocks are the same whatever the number of threads.
// save(part), where given, is called between blocks, not after the last one, when CheckpointClock
// says so: it is to keep what an interrupted run would lose.
void run_blocks(const Plan& plan, const BlockRange& range, Part& part,
                const std::function<void(const Part& part)>& save, double interval);

}  // namespace poslens
