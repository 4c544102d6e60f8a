#include "poslens/index_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "poslens/error.h"

namespace poslens {
namespace {

using testing::ElementsAre;

TEST(IndexList, ReadsNumbersAndRanges) {
  EXPECT_THAT(parse_index_list("0-3,7", "--alpha", "positions"), ElementsAre(0, 1, 2, 3, 7));
  EXPECT_THAT(parse_index_list("7,2,2,1-2", "--alpha", "positions"), ElementsAre(1, 2, 7));
  EXPECT_THAT(parse_index_list("65535", "--alpha", "positions"), ElementsAre(65535));
}

TEST(IndexList, RefusesAnythingElse) {
  for (const char* text : {"", "3-1", "-1", "1-", "1-2-3", "a", "1,,2", "1,", "0x1", "1 2", "65536",
                           "99999999999", "0-4000000000", "+1"}) {
    try {
      parse_index_list(text, "--alpha", "positions");
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      EXPECT_EQ(error.what(), "--alpha " + std::string(text) +
                                  ": expected a list of positions such as 0-3,7, from 0 to 65535");
    }
  }
}

TEST(IndexList, WritesWhatItReads) {
  for (const char* text : {"5", "0-3,7", "1,3,5", "0-1,3-4,9"}) {
    EXPECT_EQ(index_list_text(parse_index_list(text, "", "")), text);
  }
  EXPECT_EQ(index_list_text(std::vector<int>()), "");
}

}  // namespace
}  // namespace poslens
