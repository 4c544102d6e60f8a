#include "cli/part_options.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "poslens/atomic_file.h"
#include "poslens/error.h"

namespace poslens::cli {

namespace fs = std::filesystem;

void add_part_options(CLI::App& command, std::optional<Shard>& shard, RunCheckpoint& checkpoint) {
  command
      .add_option_function<std::string>(
          "--shard", [&shard](const std::string& text) { shard = Shard::parse(text); },
          "Run part i of N alone, i from 1; `poslens merge` joins all parts to what one run gives")
      ->type_name("i/N");
  command.add_flag("--resume", checkpoint.resume,
                   "Go on from PATH.partial, which an interrupted run left, where it exists");
  add_number(command, "--checkpoint", checkpoint.interval,
             "Seconds, at least, between writing PATH.partial");
}

void prepare_checkpoint(RunCheckpoint& checkpoint, const OutputOptions& output) {
  if (!(checkpoint.interval >= 0)) {
    throw UsageError(
        fmt::format("--checkpoint {}: expected seconds, at least 0", checkpoint.interval));
  }
  check_output(output.out, output.force);
  checkpoint.file = output.out;
  checkpoint.file += ".partial";
  if (!checkpoint.resume && !output.force && fs::exists(checkpoint.file)) {
    throw Error(checkpoint.file.string() +
                ": is of an interrupted run; --resume goes on with it, --force starts again");
  }
}

void remove_checkpoint(const RunCheckpoint& checkpoint) {
  const fs::path& file = checkpoint.file;
  const std::string name = file.filename().string();
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string found = entry.path().filename().string();
    if (found == name || found.starts_with(name + ".tmp")) left.push_back(entry.path());
  }
  for (const fs::path& path : left) fs::remove(path);
}

}  // namespace poslens::cli
