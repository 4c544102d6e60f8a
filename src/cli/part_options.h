#pragma once
// Options of runs in parts: shards, and runs that go on after an interruption.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>

#include "cli/options.h"
#include "poslens/run_parts.h"

namespace poslens::cli {

// --shard --resume --checkpoint.
void add_part_options(CLI::App& command, std::optional<Shard>& shard, RunCheckpoint& checkpoint);

// Checks --checkpoint and --out, and names the checkpoint's file, PATH.partial. Throws Error when
// an interrupted run has left one and neither --resume nor --force says what to do with it.
void prepare_checkpoint(RunCheckpoint& checkpoint, const OutputOptions& output);

// Also what a run that was killed while writing it left beside it (see write_atomically).
void remove_checkpoint(const RunCheckpoint& checkpoint);

}  // namespace poslens::cli
