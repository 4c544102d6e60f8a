#include "poslens/mask.h"

#include <gtest/gtest.h>

#include "poslens/error.h"

namespace poslens {
namespace {

// The definition of each mask, pair by pair.
bool defined_visible(const Mask& mask, std::int64_t i, std::int64_t j) {
  switch (mask.kind) {
    case Mask::Kind::causal:
      return j <= i;
    case Mask::Kind::full:
      return true;
    case Mask::Kind::window:
      return i - j >= 0 && i - j < mask.size;
    case Mask::Kind::prefix:
      return j <= i || (i < mask.size && j < mask.size);
    case Mask::Kind::strided:
      return j <= i && (i - j) % mask.size == 0;
  }
  return false;
}

TEST(Mask, RangesMatchTheDefinition) {
  constexpr std::int64_t kTokens = 12;
  for (const char* text : {"causal", "full", "window:1", "window:5", "window:40", "prefix:1",
                           "prefix:6", "prefix:40", "strided:1", "strided:3", "strided:40"}) {
    const Mask mask = Mask::parse(text);
    for (std::int64_t i = 0; i < kTokens; ++i) {
      const KeyRange range = mask.keys(i, kTokens);
      for (std::int64_t j = 0; j < kTokens; ++j) {
        const bool expected = defined_visible(mask, i, j);
        EXPECT_EQ(range.contains(j), expected) << text << ' ' << i << ' ' << j;
        EXPECT_EQ(mask.visible(i, j), expected) << text << ' ' << i << ' ' << j;
      }
    }
  }
}

TEST(Mask, TextRoundTrips) {
  for (const char* text : {"causal", "full", "window:128", "prefix:16", "strided:7"}) {
    EXPECT_EQ(Mask::parse(text).text(), text);
  }
}

TEST(Mask, BadTextIsRefused) {
  for (const char* text : {"", "Causal", "window", "window:", "window:0", "window:-3", "window:3x",
                           "prefix:1.5", "strided:0", "window:99999999999999999999"}) {
    EXPECT_THROW(Mask::parse(text), UsageError) << text;
  }
}

}  // namespace
}  // namespace poslens
