#include "poslens/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "poslens/error.h"

namespace poslens {
namespace {

class Threads : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_thread_count(GetParam()); }
  void TearDown() override { set_thread_count(before_); }
  const int before_ = thread_count();
};

TEST_P(Threads, EveryIndexOnceAndWorkersDoNotOverlap) {
  constexpr std::size_t kCount = 10000;
  std::vector<int> visits(kCount);
  std::vector<int> busy(static_cast<std::size_t>(thread_count()));
  std::atomic<int> overlaps = 0;
  parallel_for(kCount, [&](std::size_t index, int worker) {
    int& flag = busy[static_cast<std::size_t>(worker)];
    if (flag++ != 0) ++overlaps;
    ++visits[index];
    --flag;
  });
  EXPECT_EQ(overlaps, 0);
  EXPECT_EQ(visits, std::vector<int>(kCount, 1));
}

TEST_P(Threads, RethrowsTheBodysException) {
  EXPECT_THROW(parallel_for(100,
                            [](std::size_t index, int) {
                              if (index == 13) throw std::runtime_error("thirteen");
                            }),
               std::runtime_error);
}

TEST_P(Threads, RethrowsTheLowestIndexsException) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    std::size_t thrown = 1000;
    try {
      parallel_for(8, [](std::size_t index, int) {
        // The lower the index, the later it fails.
        std::this_thread::sleep_for(std::chrono::microseconds(50 * (8 - index)));
        throw index;
      });
    } catch (const std::size_t index) {
      thrown = index;
    }
    EXPECT_EQ(thrown, 0u);
  }
}

TEST_P(Threads, NothingToDo) {
  parallel_for(0, [](std::size_t, int) { FAIL(); });
}

INSTANTIATE_TEST_SUITE_P(Counts, Threads, testing::Values(1, 2, 5));

TEST(ThreadCount, OutOfRangeIsAnError) {
  EXPECT_THROW(set_thread_count(0), Error);
  EXPECT_THROW(set_thread_count(100000), Error);
}

}  // namespace
}  // namespace poslens
