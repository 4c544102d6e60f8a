#include "poslens/run_parts.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "poslens/error.h"

namespace poslens {
namespace {

TEST(Shard, AllTogetherAreTheWholeAndEven) {
  for (const std::int64_t total : {1, 7, 12, 1000}) {
    for (int count = 1; count <= 9; ++count) {
      std::int64_t at = 0;
      for (int index = 1; index <= count; ++index) {
        const WorkRange range = Shard{index, count}.of(total);
        EXPECT_EQ(range.first, at);
        EXPECT_EQ(range.first, total * (index - 1) / count);
        EXPECT_GE(range.size(), total / count);
        EXPECT_LE(range.size(), total / count + 1);
        at = range.last;
      }
      EXPECT_EQ(at, total);
    }
  }
  // Products that leave 64 bits.
  const std::int64_t large = std::int64_t{1} << 62;
  EXPECT_EQ((Shard{1000000, 1000000}.of(large).last), large);
}

TEST(ShardSet, NamesWhatIsMissingOrDouble) {
  const auto refusal = [](const auto& work) {
    try {
      work();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  ShardSet set;
  EXPECT_EQ(refusal([&] { set.require_all(); }), "expected shards to merge, found none");
  set.add({2, 3}, "b");
  EXPECT_EQ(refusal([&] { set.add({2, 3}, "c"); }), "shard 2/3 is given twice, also as b");
  EXPECT_EQ(refusal([&] {
              set.add({1, 2}, "c");
            }),
            "expected one of 3 shards, as b is, found shard 1/2");
  EXPECT_EQ(refusal([&] { set.require_all(); }),
            "expected every shard, but these are missing: 1/3 3/3");
  set.add({1, 3}, "a");
  set.add({3, 3}, "c");
  EXPECT_EQ(refusal([&] { set.require_all(); }), "accepted");
}

TEST(CheckpointClock, WaitsForTheIntervalAndFiftyTimesWhatItTook) {
  using std::chrono::milliseconds;
  int saved = 0;
  CheckpointClock late(1000);
  late.tick([&] { ++saved; });
  EXPECT_EQ(saved, 0);
  CheckpointClock clock(0);
  clock.tick([&] {
    ++saved;
    std::this_thread::sleep_for(milliseconds(4));
  });
  EXPECT_EQ(saved, 1);  // at once: the interval is none
  clock.tick([&] { ++saved; });
  EXPECT_EQ(saved, 1);
  while (clock.seconds() < 0.2) {  // 50 x 4 ms, and the 4 ms
    clock.tick([&] { ++saved; });
    EXPECT_EQ(saved, 1);
  }
}

}  // namespace
}  // namespace poslens
