#include "poslens/resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "poslens/error.h"
#include "support/temporary_folder.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;

// A machine's /proc and /sys.
class Machine {
 public:
  void write(const std::string& file, const std::string& text) const {
    const fs::path path = folder_.path() / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::int64_t available() const { return available_memory_bytes(folder_.path()).value_or(-1); }

 private:
  TemporaryFolder folder_;
};

constexpr const char* kMemory =
    "MemTotal:       24602740 kB\nMemFree:        18822960 kB\nMemAvailable:    1000 kB\n";

TEST(AvailableMemory, IsWhatTheKernelSays) {
  const Machine machine;
  EXPECT_EQ(machine.available(), -1);
  machine.write("proc/meminfo", kMemory);
  EXPECT_EQ(machine.available(), 1024000);
}

// Version 2: the group's own limit, that of a group above it, and the cache that gives way.
TEST(AvailableMemory, IsWhatIsLeftInAControlGroup) {
  const Machine machine;
  machine.write("proc/meminfo", kMemory);
  machine.write("proc/self/cgroup", "0::/user.slice/run.scope\n");
  const std::string above = "sys/fs/cgroup/user.slice/", own = above + "run.scope/";
  machine.write(own + "memory.max", "max\n");
  machine.write(own + "memory.current", "7000\n");
  EXPECT_EQ(machine.available(), 1024000);
  machine.write(own + "memory.max", "900000\n");
  EXPECT_EQ(machine.available(), 893000);
  machine.write(own + "memory.stat", "anon 1000\ninactive_file 2000\nactive_file 3000\n");
  EXPECT_EQ(machine.available(), 895000);
  machine.write(above + "memory.max", "500000\n");
  machine.write(above + "memory.current", "100000\n");
  EXPECT_EQ(machine.available(), 400000);
  machine.write(above + "memory.current", "600000\n");  // reclaim has not caught up
  EXPECT_EQ(machine.available(), 0);
}

TEST(AvailableMemory, KnowsVersionOneToo) {
  const Machine machine;
  machine.write("proc/meminfo", kMemory);
  machine.write("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:hugetlb,memory:/docker/7\n0::/\n");
  const std::string own = "sys/fs/cgroup/memory/docker/7/";
  machine.write(own + "memory.limit_in_bytes", "300000\n");
  machine.write(own + "memory.usage_in_bytes", "100000\n");
  machine.write(own + "memory.stat", "inactive_file 5\ntotal_inactive_file 50\n");
  EXPECT_EQ(machine.available(), 200050);
  machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  machine.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "100000\n");
  EXPECT_EQ(machine.available(), 200050);
}

TEST(AvailableMemory, WhatDoesNotFitIsRefused) {
  const std::int64_t available = available_memory_bytes().value_or(-1);
  EXPECT_GT(available, 0);
  require_memory(1 << 20, "--n 2");
  try {
    require_memory(std::numeric_limits<std::int64_t>::max(), "--n 4096 --layers 64");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    using testing::StartsWith;
    EXPECT_THAT(error.what(),
                StartsWith("--n 4096 --layers 64: expected a run that fits into the "));
    EXPECT_THAT(error.what(), testing::EndsWith("found one that needs 9223372036854775807 bytes"));
  }
}

}  // namespace
}  // namespace poslens
