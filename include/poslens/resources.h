#pragma once
// What this process has used, for the provenance of results.

#include <cstdint>

namespace poslens {

// The largest resident memory so far, bytes.
std::int64_t peak_memory_bytes();

}  // namespace poslens
