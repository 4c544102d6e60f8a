#pragma once
// The memory that a run takes, estimated before any work.

#include "simulation/plan.h"

namespace poslens {

// Bytes that a run takes at most beside the program itself. The totals of a part, one set for each
// group, live as long as the run; so do, while it works, the buffers of each thread and what a
// checkpoint writes, and after that the map.
std::int64_t run_bytes(const Plan& plan, const RunCheckpoint& checkpoint, int threads);

// Throws UsageError naming options, needed and available bytes when the run does not fit.
void require_run_memory(const Plan& plan, const RunCheckpoint& checkpoint);

}  // namespace poslens
