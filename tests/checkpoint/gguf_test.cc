// What a sound GGUF file says comes out as it stands in the file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "poslens/checkpoint.h"
#include "poslens/error.h"
#include "support/gguf_writer.h"
#include "support/temporary_folder.h"

namespace poslens {
namespace {

using testing::HasSubstr;

class Gguf : public testing::Test {
 protected:
  std::unique_ptr<Checkpoint> open(const GgufWriter& writer) {
    writer.write(path_.string());
    return Checkpoint::open(path_);
  }
  template <typename Call>
  std::string message(Call call) {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "model.gguf";
};

TEST_F(Gguf, EveryMetadataTypeIsRead) {
  GgufWriter writer;
  writer.scalar("u8", 0, std::uint8_t{200});
  writer.scalar("i8", 1, std::int8_t{-100});
  writer.scalar("u16", 2, std::uint16_t{60000});
  writer.scalar("i16", 3, std::int16_t{-30000});
  writer.scalar("u32", 4, std::uint32_t{4000000000});
  writer.scalar("i32", 5, std::int32_t{-2000000000});
  writer.scalar("f32", 6, 0.1f);
  writer.boolean("yes", true);
  writer.boolean("no", false);
  writer.text("text", "naïve");
  writer.scalar("u64", 10, std::uint64_t{1} << 40);
  writer.scalar("vast", 10, ~std::uint64_t{0});
  writer.scalar("i64", 11, std::int64_t{-1} << 40);
  writer.scalar("f64", 12, 0.1);
  writer.texts("texts", {"a", "", "c"});
  writer.integers("integers", {1, -2, 3});
  const auto array = [](std::uint32_t type, std::uint64_t count, const std::string& content) {
    return GgufWriter::raw(type) + GgufWriter::raw(count) + content;
  };
  writer.entry("bytes", 9, array(0, 3, "\x01\x02\xff"));
  writer.entry("numbers", 9, array(6, 2, GgufWriter::raw(0.5f) + GgufWriter::raw(-2.f)));
  writer.entry("flags", 9, array(7, 3, std::string("\1\0\1", 3)));
  writer.entry("nothing", 9, array(8, 0, ""));
  writer.text("\xff\xfe key", "keys need not be UTF-8");
  const auto file = open(writer);

  EXPECT_EQ(file->format(), "GGUF v3");
  EXPECT_EQ(file->path(), path_);
  EXPECT_EQ(file->integer("u8"), 200);
  EXPECT_EQ(file->integer("i8"), -100);
  EXPECT_EQ(file->integer("u16"), 60000);
  EXPECT_EQ(file->integer("i16"), -30000);
  EXPECT_EQ(file->integer("u32"), 4000000000);
  EXPECT_EQ(file->integer("i32"), -2000000000);
  EXPECT_EQ(file->integer("u64"), std::int64_t{1} << 40);
  EXPECT_EQ(file->integer("i64"), std::int64_t{-1} << 40);
  EXPECT_EQ(file->number("f32"), double{0.1f});
  EXPECT_EQ(file->number("f64"), 0.1);
  EXPECT_EQ(file->number("i8"), -100);
  EXPECT_TRUE(file->boolean_or("yes", false));
  EXPECT_FALSE(file->boolean_or("no", true));
  EXPECT_EQ(file->text("text"), "naïve");
  EXPECT_EQ(file->texts("texts"), (std::vector<std::string>{"a", "", "c"}));
  EXPECT_EQ(file->integers("integers"), (std::vector<std::int64_t>{1, -2, 3}));
  EXPECT_EQ(file->integers("bytes"), (std::vector<std::int64_t>{1, 2, 255}));
  EXPECT_EQ(std::get<std::vector<double>>(file->metadata().at("numbers")),
            (std::vector<double>{0.5, -2}));
  EXPECT_EQ(std::get<std::vector<bool>>(file->metadata().at("flags")),
            (std::vector<bool>{true, false, true}));
  EXPECT_TRUE(file->texts("nothing").empty());
  EXPECT_EQ(file->text("\xff\xfe key"), "keys need not be UTF-8");
  EXPECT_EQ(std::get<std::uint64_t>(file->metadata().at("vast")), ~std::uint64_t{0});
}

TEST_F(Gguf, AccessorsSayWhatIsMissingOrOfAnotherType) {
  GgufWriter writer;
  writer.text("text", "x");
  writer.integer("integer", 3);
  writer.scalar("vast", 10, ~std::uint64_t{0});
  const auto file = open(writer);
  EXPECT_TRUE(file->has("text"));
  EXPECT_FALSE(file->has("tex"));
  EXPECT_EQ(file->integer_or("absent", 7), 7);
  EXPECT_EQ(file->number_or("absent", 0.5), 0.5);
  EXPECT_EQ(file->text_or("absent", "y"), "y");
  EXPECT_TRUE(file->boolean_or("absent", true));
  EXPECT_EQ(file->integer_or("integer", 7), 3);
  EXPECT_EQ(message([&] { file->integer("text"); }),
            path_.string() + ": metadata 'text': expected an integer, found a text");
  EXPECT_THAT(message([&] { file->integer("absent"); }), HasSubstr("found no such key"));
  EXPECT_THAT(message([&] { file->integer_or("text", 1); }), HasSubstr("found a text"));
  EXPECT_THAT(message([&] { file->integer("vast"); }), HasSubstr("an integer above 2^63"));
  EXPECT_THAT(message([&] { file->number("text"); }), HasSubstr("expected a number"));
  EXPECT_THAT(message([&] { file->boolean_or("integer", true); }), HasSubstr("a boolean"));
  EXPECT_THAT(message([&] { file->texts("text"); }), HasSubstr("an array of texts"));
  EXPECT_THAT(message([&] { file->integers("integer"); }), HasSubstr("an array of integers"));
}

TEST_F(Gguf, TensorsAreRowMajorAndLieWhereTheFileSays) {
  for (const std::uint32_t version : {2u, 3u}) {
    for (const std::uint32_t alignment : {1u, 8u, 32u, 256u}) {
      GgufWriter writer;
      writer.version = version;
      writer.alignment = alignment;
      if (alignment != 32) writer.integer("general.alignment", alignment);
      writer.text("pad", "odd");
      std::vector<float> matrix(2 * 3);
      std::iota(matrix.begin(), matrix.end(), 0.5f);
      writer.tensor("matrix", {2, 3}, matrix);
      writer.tensor("byte", {1}, 1, std::string("\x00\x3c", 2));  // half 1
      std::vector<float> cube(2 * 3 * 4 * 5, -1);
      writer.tensor("cube", {2, 3, 4, 5}, cube);
      const auto file = open(writer);
      EXPECT_EQ(file->format(), version == 2 ? "GGUF v2" : "GGUF v3");
      ASSERT_EQ(file->tensors().size(), 3u);
      const TensorEntry& tensor = file->require("matrix", {2, 3});
      std::vector<float> row(3);
      expand_rows(tensor, 1, 1, row);
      EXPECT_EQ(row, (std::vector<float>{3.5f, 4.5f, 5.5f}));
      std::vector<float> one(1);
      expand_rows(file->require("byte", {1}), 0, 1, one);
      EXPECT_EQ(one[0], 1);
      EXPECT_EQ(file->require("cube", {2, 3, 4, 5}).elements(), 120);
      EXPECT_EQ(file->find("matrices"), nullptr);
      EXPECT_EQ(message([&] {
                  file->require("matrix", {3, 2});
                }),
                path_.string() + ": tensor 'matrix': expected shape [3, 2], found [2, 3]");
      EXPECT_THAT(message([&] { file->require("none", {3}); }), HasSubstr("no such tensor"));
    }
  }
}

TEST_F(Gguf, FingerprintTellsFilesApart) {
  GgufWriter writer;
  writer.text("general.name", "one");
  writer.tensor("t", {4}, std::vector<float>{1, 2, 3, 4});
  const std::string first = open(writer)->fingerprint();
  EXPECT_THAT(first, testing::MatchesRegex("[0-9a-f]{16}"));
  EXPECT_EQ(open(writer)->fingerprint(), first);

  GgufWriter other_name;
  other_name.text("general.name", "two");
  other_name.tensor("t", {4}, std::vector<float>{1, 2, 3, 4});
  EXPECT_NE(open(other_name)->fingerprint(), first);
  GgufWriter other_weights;
  other_weights.text("general.name", "one");
  other_weights.tensor("t", {4}, std::vector<float>{1, 2, 3, 5});
  EXPECT_NE(open(other_weights)->fingerprint(), first);
}

// The file's bytes, hashed as the header's comment says, by hand.
TEST_F(Gguf, FingerprintIsFnv1a) {
  const GgufWriter writer;
  std::string hashed = writer.bytes();
  ASSERT_EQ(hashed.size(), 32u);
  hashed.resize(24);  // the header; the rest is padding
  hashed += GgufWriter::raw(std::uint64_t{32});
  std::uint64_t hash = 14695981039346656037u;  // offset basis
  for (const char byte : hashed) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211u;  // prime
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  EXPECT_EQ(open(writer)->fingerprint(), text);
}

TEST_F(Gguf, WhatIsNoFileIsRefused) {
  EXPECT_THAT(message([&] { Checkpoint::open(folder_.path() / "absent"); }),
              HasSubstr("cannot be read: No such file"));
  EXPECT_THAT(message([&] { Checkpoint::open("/dev/null"); }), HasSubstr("found a device"));
}

}  // namespace
}  // namespace poslens
