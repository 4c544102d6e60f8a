#pragma once
// What this process has used, for the provenance of results, and what there is left for it.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace poslens {

// The largest resident memory so far, bytes.
std::int64_t peak_memory_bytes();

// Memory that this process can still take, bytes: what the kernel counts as available, or less
// where a control group (version 1 or 2) allows less. root: where /proc and /sys are. Nothing when
// it cannot be found out.
std::optional<std::int64_t> available_memory_bytes(const std::filesystem::path& root = "/");

// Throws UsageError when more than the available memory is needed. options: the command line's,
// which make it so.
void require_memory(std::int64_t bytes, const std::string& options);

}  // namespace poslens
