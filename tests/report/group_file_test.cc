#include "report/group_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "poslens/error.h"
#include "support/temporary_folder.h"

namespace poslens {
namespace {

ScoreMap numbered_map(std::int64_t groups) {
  ScoreMap map = ScoreMap::sized({0, 3}, 5);
  map.groups = groups;
  map.scores_groups.resize(static_cast<std::size_t>(groups) * map.scores.size());
  std::iota(map.scores_groups.begin(), map.scores_groups.end(), 0.0F);
  return map;
}

TEST(GroupFile, GivesBackEveryLayer) {
  const TemporaryFolder folder;
  const ScoreMap map = numbered_map(3);
  GroupFile::write(map, folder.path() / "cell.groups");
  const GroupFile file(folder.path() / "cell.groups", 3, map);
  for (std::size_t place = 0; place < 2; ++place) {
    const std::vector<Matrix<float>> maps = file.layer(place);
    ASSERT_EQ(maps.size(), 3);
    for (std::size_t group = 0; group < 3; ++group) {
      for (std::size_t i = 0; i < 5; ++i) {
        for (std::size_t j = 0; j < 5; ++j) {
          if (j <= i) {
            EXPECT_EQ(maps[group](i, j), map.group_layer(group, place)(i, j));
          } else {
            EXPECT_TRUE(std::isnan(maps[group](i, j)));
          }
        }
      }
    }
  }
}

TEST(GroupFile, OfAnotherSizeIsRefused) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cell.groups";
  EXPECT_THROW(GroupFile(path, 3, numbered_map(3)), Error);
  GroupFile::write(numbered_map(3), path);
  try {
    const GroupFile file(path, 4, numbered_map(4));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("cell.groups: expected 480 bytes (2 layers, 4 "
                                                 "groups, 5 positions), found 360"));
  }
}

}  // namespace
}  // namespace poslens
