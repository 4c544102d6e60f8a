#include "figures/axis.h"

#include <gmock/gmock.h>

#include <cmath>

namespace poslens {
namespace {

using testing::ElementsAre;

TEST(RoundTicks, AreRoundAndInside) {
  EXPECT_THAT(round_ticks(0, 49, 4), ElementsAre(0, 10, 20, 30, 40));
  EXPECT_THAT(round_ticks(0, 1, 4),
              ElementsAre(0, 0.2, testing::DoubleEq(0.4), testing::DoubleNear(0.6, 1e-12), 0.8, 1));
  EXPECT_THAT(round_ticks(-3, 7, 4), ElementsAre(-2, 0, 2, 4, 6));
}

TEST(RoundTicks, KeepAnEndThatIsRound) {
  const std::vector<double> ticks = round_ticks(0, 0.1 + 0.2, 3);
  EXPECT_NEAR(ticks.back(), 0.3, 1e-12);
}

TEST(RoundTicks, HaveNoNegativeZero) {
  for (const double tick : round_ticks(-0.3, 0.3, 4)) {
    EXPECT_FALSE(tick == 0 && std::signbit(tick));
  }
}

}  // namespace
}  // namespace poslens
