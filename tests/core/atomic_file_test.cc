#include "poslens/atomic_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "poslens/error.h"
#include "support/temporary_folder.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(AtomicFile, WritesAndReplaces) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "file";
  write_text_atomically(path, "one");
  write_text_atomically(path, "two");
  EXPECT_EQ(content(path), "two");
}

TEST(AtomicFile, AFailureLeavesWhatWasThereAndNothingElse) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "file";
  write_text_atomically(path, "one");
  EXPECT_THROW(write_atomically(path,
                                [](const fs::path& temporary) {
                                  std::ofstream(temporary) << "half";
                                  throw Error("no");
                                }),
               Error);
  EXPECT_EQ(content(path), "one");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(CheckOutput, RefusesWhatCannotBeWritten) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "file";
  EXPECT_NO_THROW(check_output(path, false));
  write_text_atomically(path, "one");
  EXPECT_THROW(check_output(path, false), Error);
  EXPECT_NO_THROW(check_output(path, true));
  EXPECT_THROW(check_output(folder.path() / "missing" / "file", true), Error);
  EXPECT_THROW(check_output(folder.path(), true), Error);
}

TEST(CheckOutputFolder, RefusesFilesAndFoldersWithContent) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "results";
  EXPECT_NO_THROW(check_output_folder(path, false));
  EXPECT_NO_THROW(check_output_folder(path / "", false));
  EXPECT_THROW(check_output_folder(path / "deeper", true), Error);
  EXPECT_FALSE(fs::exists(path));  // it only checks
  fs::create_directory(path);
  EXPECT_NO_THROW(check_output_folder(path, false));
  write_text_atomically(path / "file", "one");
  EXPECT_THROW(check_output_folder(path, false), Error);
  EXPECT_NO_THROW(check_output_folder(path, true));
  EXPECT_THROW(check_output_folder(path / "file", true), Error);
}

}  // namespace
}  // namespace poslens
