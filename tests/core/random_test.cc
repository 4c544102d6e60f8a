#include "poslens/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace poslens {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Known answers published with Random123 (kat_vectors, philox4x32 with 10 and with 7 rounds).
TEST(Philox, MatchesPublishedKnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}, 7),
            (Words{0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48}));
}

TEST(RandomStream, StreamsDiffer) {
  RandomStream a(1, 0), b(1, 1), c(2, 0), again(1, 0);
  const std::uint32_t first = a.next();
  EXPECT_NE(first, b.next());
  EXPECT_NE(first, c.next());
  EXPECT_EQ(first, again.next());
}

TEST(RandomStream, BelowIsUniform) {
  RandomStream stream(7, 3);
  constexpr int kBins = 10, kDraws = 100000;
  constexpr double kExpected = double{kDraws} / kBins;
  std::vector<int> counts(kBins);
  for (int i = 0; i < kDraws; ++i) ++counts[stream.below(kBins)];
  double chi_squared = 0;
  for (const int count : counts) {
    const double difference = count - kExpected;
    chi_squared += difference * difference / kExpected;
  }
  EXPECT_LT(chi_squared, 27.9);  // 0.1 % point for 9 degrees of freedom
}

TEST(RandomStream, NormalHasItsMoments) {
  RandomStream stream(3, 0);
  constexpr int kDraws = 200000;
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = stream.normal();
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 5 / std::sqrt(kDraws));
  EXPECT_NEAR(squares / kDraws, 1, 5 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(fourth / kDraws, 3, 5 * std::sqrt(96.0 / kDraws));
}

}  // namespace
}  // namespace poslens
