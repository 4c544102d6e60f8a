#include "poslens/hash.h"

#include <gtest/gtest.h>

#include <string_view>

namespace poslens {
namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

// Test vectors published with FNV (isthe.com/chongo/src/fnv/test_fnv.c).
TEST(Hash, MatchesPublishedValues) {
  EXPECT_EQ(Hash().value(), 0xcbf29ce484222325);
  EXPECT_EQ(Hash().add(bytes("a")).value(), 0xaf63dc4c8601ec8c);
  EXPECT_EQ(Hash().add(bytes("foobar")).value(), 0x85944171f73967e8);
  EXPECT_EQ(Hash().add(bytes("foobar")).hex(), "85944171f73967e8");
}

TEST(Hash, PiecesGiveTheHashOfTheWhole) {
  EXPECT_EQ(Hash().add(bytes("foo")).add(bytes("bar")).value(),
            Hash().add(bytes("foobar")).value());
}

}  // namespace
}  // namespace poslens
