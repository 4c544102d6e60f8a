#include "poslens/resources.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "poslens/error.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;

// The number behind a word at the start of a line: "MemAvailable: 123 kB", "inactive_file 123".
std::optional<std::int64_t> number_behind(const fs::path& file, const std::string& word) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string first;
    std::int64_t number = 0;
    if (words >> first >> number && first == word) return number;
  }
  return std::nullopt;
}

// A file with one number in it; nothing for "max".
std::optional<std::int64_t> only_number(const fs::path& file) {
  std::ifstream stream(file);
  std::int64_t number = 0;
  if (stream >> number) return number;
  return std::nullopt;
}

// Where a control group keeps its limit, what it uses, and what of that is cache that gives way.
struct GroupFiles {
  const char* controller;  // in /proc/self/cgroup; empty in version 2
  const char* mount;
  const char* limit;
  const char* usage;
  const char* cache;  // in memory.stat
};
constexpr GroupFiles kVersions[] = {
    {"", "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"},
    {"memory", "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     "total_inactive_file"}};

// What is left in the group of this process and in those above it, whichever is least.
std::optional<std::int64_t> left_in_groups(const fs::path& root, const GroupFiles& files) {
  std::optional<std::int64_t> least;
  std::ifstream stream(root / "proc/self/cgroup");
  for (std::string line; std::getline(stream, line);) {  // 4:cpu,memory:/path
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    if (controllers.find(fmt::format(",{},", files.controller)) == std::string::npos) continue;
    fs::path group = fs::path(line.substr(second + 1)).relative_path();
    while (true) {
      const fs::path folder = root / files.mount / group;
      const auto limit = only_number(folder / files.limit);
      const auto usage = only_number(folder / files.usage);
      if (limit && usage) {
        const auto cache = number_behind(folder / "memory.stat", files.cache).value_or(0);
        const std::int64_t left = std::max<std::int64_t>(0, *limit - *usage + cache);
        least = std::min(least.value_or(left), left);
      }
      if (group.empty()) break;
      group = group.parent_path();
    }
  }
  return least;
}

}  // namespace

std::int64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

std::optional<std::int64_t> available_memory_bytes(const fs::path& root) {
  std::optional<std::int64_t> available = number_behind(root / "proc/meminfo", "MemAvailable:");
  if (available) *available *= 1024;
  for (const GroupFiles& files : kVersions) {
    if (const auto left = left_in_groups(root, files)) {
      available = std::min(available.value_or(*left), *left);
    }
  }
  return available;
}

void require_memory(std::int64_t bytes, const std::string& options) {
  const auto available = available_memory_bytes();
  if (!available || bytes <= *available) return;
  throw UsageError(
      fmt::format("{}: expected a run that fits into the {} bytes of memory that are available, "
                  "found one that needs {} bytes",
                  options, *available, bytes));
}

}  // namespace poslens
