// GGUF models in parts: any part stands for the whole, and all must be there.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "poslens/checkpoint.h"
#include "poslens/error.h"
#include "support/gguf_writer.h"
#include "support/temporary_folder.h"

namespace poslens {
namespace {

using testing::HasSubstr;

std::string message(const std::filesystem::path& path) {
  try {
    Checkpoint::open(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// tools/golden/gguf_split_fixture.py wrote the parts.
TEST(SplitGguf, AnyPartStandsForTheWhole) {
  std::string first_fingerprint;
  for (int part = 1; part <= 3; ++part) {
    const std::filesystem::path path =
        fmt::format("{}/split-0000{}-of-00003.gguf", POSLENS_TEST_DATA, part);
    const auto checkpoint = Checkpoint::open(path);
    EXPECT_EQ(checkpoint->path(), path);
    EXPECT_EQ(checkpoint->format(), "GGUF v3, 3 parts");
    EXPECT_EQ(checkpoint->text("general.name"), "split");
    ASSERT_EQ(checkpoint->tensors().size(), 5u);
    for (int i = 0; i < 5; ++i) {
      std::vector<float> row(2);
      expand_rows(checkpoint->require(fmt::format("t{}", i), {2, 2}), 1, 1, row);
      EXPECT_EQ(row, (std::vector<float>{10.0f * i + 2, 10.0f * i + 3}));
    }
    if (first_fingerprint.empty()) first_fingerprint = checkpoint->fingerprint();
    EXPECT_EQ(checkpoint->fingerprint(), first_fingerprint);
  }
}

class SplitGgufFolder : public testing::Test {
 protected:
  struct PartFacts {
    std::uint16_t number, count;
    std::int32_t tensors;
    std::string tensor;
  };
  static GgufWriter part(const PartFacts& facts) {
    GgufWriter writer;
    writer.scalar("split.no", 2, facts.number);
    writer.scalar("split.count", 2, facts.count);
    writer.scalar("split.tensors.count", 5, facts.tensors);
    writer.tensor(facts.tensor, {1}, std::vector<float>{1});
    return writer;
  }
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  void write(const std::string& name, const PartFacts& facts) const {
    part(facts).write(path(name));
  }
  std::string message_of(const std::string& name) const { return message(path(name)); }

  TemporaryFolder folder_;
  const std::string first_ = "m-00001-of-00002.gguf", second_ = "m-00002-of-00002.gguf";
};

TEST_F(SplitGgufFolder, MissingPartsAreNamed) {
  write(first_, {0, 2, 2, "a"});
  EXPECT_EQ(message_of(first_),
            path(first_).string() + ": expected all 2 parts, found no " + second_);
  write("m-00003-of-00009.gguf", {2, 9, 9, "a"});
  EXPECT_THAT(message_of("m-00003-of-00009.gguf"),
              HasSubstr("expected all 9 parts, found no m-00001-of-00009.gguf, "
                        "m-00002-of-00009.gguf, m-00004-of-00009.gguf, …"));
  write(second_, {1, 2, 2, "b"});
  EXPECT_EQ(message_of(first_), "no error");
}

TEST_F(SplitGgufFolder, PartsMustAgree) {
  const PartFacts first = {0, 2, 2, "a"};
  write(first_, first);
  write(second_, {1, 3, 2, "b"});
  EXPECT_THAT(message_of(first_),
              HasSubstr(second_ + ": metadata 'split.count': expected 2, as another part has it, "
                                  "found 3"));
  write(second_, {0, 2, 2, "b"});
  EXPECT_THAT(message_of(first_), HasSubstr("'split.no': expected 1, as the file's name has it"));
  write(second_, {1, 2, 2, "a"});
  EXPECT_THAT(message_of(first_),
              HasSubstr("tensor 'a': expected in one part, found in an earlier one too"));
  write(second_, {1, 2, 3, "b"});
  EXPECT_THAT(message_of(first_),
              HasSubstr("'split.tensors.count': expected 2, the tensors of all parts, found 3"));
  GgufWriter none;
  none.write(path(second_));
  EXPECT_THAT(message_of(first_), HasSubstr("'split.count': expected 2, as another part has it, "
                                            "found no such key"));
  none.write(path(first_));
  EXPECT_EQ(message_of(first_), "no error");  // no part by its metadata, whatever its name
}

TEST_F(SplitGgufFolder, NumbersAndNamesAreChecked) {
  write("other.gguf", {0, 2, 2, "a"});
  EXPECT_THAT(message_of("other.gguf"),
              HasSubstr("one of 2 parts: expected a name that ends in -00001-of-00002.gguf, by "
                        "which the others are found, found 'other.gguf'"));
  write(second_, {0, 2, 2, "a"});
  EXPECT_THAT(message_of(second_), HasSubstr("ends in -00001-of-00002.gguf"));
  write(first_, {2, 2, 2, "a"});
  EXPECT_THAT(message_of(first_), HasSubstr("'split.no': expected 0 to 1, found 2"));
  write(first_, {0, 0, 2, "a"});
  EXPECT_THAT(message_of(first_), HasSubstr("'split.count': expected 1 to 99999, found 0"));
  GgufWriter vast;
  vast.scalar("split.count", 11, std::int64_t{1} << 40);
  vast.write(path(first_));
  EXPECT_THAT(message_of(first_), HasSubstr("'split.count': expected 1 to 99999"));
  GgufWriter text;
  text.text("split.count", "2");
  text.write(path(first_));
  EXPECT_THAT(message_of(first_), HasSubstr("'split.count': expected an integer"));
  GgufWriter lone;
  lone.scalar("split.count", 2, std::uint16_t{2});
  lone.write(path(first_));
  EXPECT_THAT(message_of(first_), HasSubstr("'split.no': expected 0 to 1, found no such key"));
}

// A part cut off anywhere is an error of that part.
TEST_F(SplitGgufFolder, EveryTruncationIsAnError) {
  write(first_, {0, 2, 2, "a"});
  const std::string whole = part({1, 2, 2, "b"}).bytes();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    std::ofstream(path(second_), std::ios::binary) << whole.substr(0, length);
    EXPECT_THAT(message_of(first_), testing::StartsWith(path(second_).string())) << length;
  }
}

}  // namespace
}  // namespace poslens
