// A damaged or hostile GGUF file gets one clear error. Run under the address sanitizer, these tests
// also see that nothing beyond the file is read.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "checkpoint/gguf.h"
#include "poslens/error.h"
#include "support/gguf_writer.h"

namespace poslens {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// Parses a copy that ends where the bytes do, so that the sanitizer sees a read beyond.
std::string message(const std::string& bytes) {
  const auto copy = std::make_unique<std::byte[]>(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
  try {
    parse_gguf({copy.get(), bytes.size()}, "x.gguf");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}
std::string message(const GgufWriter& writer) { return message(writer.bytes()); }

std::string array(std::uint32_t type, std::uint64_t count, const std::string& content = "") {
  return GgufWriter::raw(type) + GgufWriter::raw(count) + content;
}

// One of everything.
GgufWriter sound() {
  GgufWriter writer;
  writer.text("general.name", "sound");
  writer.integer("count", 3);
  writer.number("number", 0.5f);
  writer.boolean("flag", true);
  writer.texts("texts", {"one", "two"});
  writer.integers("integers", {1, 2});
  writer.entry("flags", 9, array(7, 2, "\1\1"));
  writer.tensor("first", {2, 32}, 3, std::string(40, 'q'));
  writer.tensor("second", {3}, std::vector<float>{1, 2, 3});
  return writer;
}

TEST(MalformedGguf, EveryTruncationIsAnError) {
  const std::string whole = sound().bytes();
  ASSERT_EQ(message(whole), "no error");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THAT(message(whole.substr(0, length)),
                AllOf(StartsWith("x.gguf: "), HasSubstr("expected"), HasSubstr("found")))
        << length;
  }
  EXPECT_EQ(message(whole.substr(0, 30)),
            "x.gguf: tensor count: expected at most 0 in the 14 bytes that are left, found 2: the "
            "file is cut off or damaged");
  const std::size_t header = sound().header().size();
  EXPECT_EQ(message(whole.substr(0, header - 3)),
            "x.gguf: tensor 'second', offset: expected 8 bytes at offset " +
                std::to_string(header - 8) + ", found 5: the file is cut off or damaged");
  EXPECT_THAT(message(whole.substr(0, whole.size() - 1)),
              AllOf(HasSubstr("tensor 'second', data: expected 12 bytes at offset 64 of the data"),
                    HasSubstr("found data of 75 bytes: the file is cut off")));
}

// Whatever one byte of the header is changed to, the parser answers and reads nothing beyond.
TEST(MalformedGguf, AnyChangedByteIsSurvived) {
  const std::string header = sound().header();
  const std::string whole = sound().bytes();
  int errors = 0;
  for (std::size_t at = 0; at < header.size(); ++at) {
    for (const int change : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      const std::string found = message(damaged);
      if (found != "no error") {
        EXPECT_THAT(found, StartsWith("x.gguf: "));
        ++errors;
      }
    }
  }
  EXPECT_GT(errors, 1000);
}

TEST(MalformedGguf, FilesOfOtherFormatsAreNamed) {
  const auto expect = [](const std::string& bytes, const std::string& found) {
    EXPECT_THAT(message(bytes), AllOf(StartsWith("x.gguf: first bytes: expected \"GGUF\", found "),
                                      HasSubstr(found)));
  };
  expect("", "an empty file");
  expect("GGU", "'GGU'");
  expect(std::string("PK\x03\x04\x14\x00", 6), "a zip archive, as PyTorch writes");
  expect(std::string("\x80\x02}q\x00", 5), "'\\x80\\x02}q\\x00', a Python pickle");
  expect(GgufWriter::raw(std::uint64_t{2}) + "{\"a\":1}", "safetensors");
  expect("version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer");
  expect("tjggxxxx", "older than GGUF");
  expect("plain text", "'plain text'");
}

TEST(MalformedGguf, VersionsOtherThan2And3AreRefused) {
  for (const std::uint32_t version : {0u, 1u, 4u}) {
    GgufWriter writer = sound();
    writer.version = version;
    EXPECT_EQ(message(writer),
              "x.gguf: version: expected 2 or 3, little-endian, found " + std::to_string(version));
  }
  GgufWriter writer = sound();
  writer.version = 0x03000000;
  EXPECT_THAT(message(writer), HasSubstr("found a big-endian file"));
}

TEST(MalformedGguf, CountsAreCheckedAgainstTheBytesThatAreLeft) {
  for (const std::uint64_t count :
       {std::uint64_t{1000}, std::uint64_t{1} << 60, ~std::uint64_t{0}}) {
    GgufWriter tensors = sound();
    tensors.tensor_count = count;
    EXPECT_THAT(message(tensors), HasSubstr("tensor count: expected at most")) << count;
    GgufWriter metadata = sound();
    metadata.metadata_count = count;
    EXPECT_THAT(message(metadata), HasSubstr("metadata count: expected at most")) << count;
    GgufWriter text;
    text.entry("text", 8, GgufWriter::raw(count) + "abc");
    EXPECT_THAT(message(text), HasSubstr("metadata 'text', value: expected at most")) << count;
    for (const std::uint32_t type : {0u, 4u, 7u, 8u, 12u}) {
      GgufWriter list;
      list.entry("list", 9, array(type, count, "abcdefgh"));
      EXPECT_THAT(message(list), HasSubstr("metadata 'list', array length: expected at most"))
          << count << ' ' << type;
    }
  }
  GgufWriter more = sound();
  more.metadata_count = 8;
  EXPECT_NE(message(more), "no error");
  GgufWriter fewer = sound();
  fewer.metadata_count = 6;
  EXPECT_NE(message(fewer), "no error");
}

TEST(MalformedGguf, BadMetadataIsRefused) {
  const auto found = [](std::uint32_t type, const std::string& value) {
    GgufWriter writer;
    writer.entry("key", type, value);
    return message(writer);
  };
  EXPECT_THAT(found(13, "12345678"),
              HasSubstr("metadata 'key', value type: expected a number below 13, found 13"));
  EXPECT_THAT(found(~0u, "12345678"), HasSubstr("value type"));
  EXPECT_THAT(found(9, array(13, 1, "12345678")), HasSubstr("element type"));
  EXPECT_THAT(found(9, array(9, 1, array(4, 1, "1234"))), HasSubstr("found an array of arrays"));
  EXPECT_THAT(found(7, "\2"), HasSubstr("value: expected 0 or 1 for a boolean, found 2"));
  EXPECT_THAT(found(9, array(7, 2, "\1\xff")), HasSubstr("0 or 1"));
  EXPECT_THAT(found(9, array(10, 1, std::string(8, '\xff'))), HasSubstr("a number below 2^63"));

  GgufWriter twice;
  twice.integer("key", 1);
  twice.integer("key", 1);
  EXPECT_THAT(message(twice), HasSubstr("metadata 'key', key: expected each key once"));
}

TEST(MalformedGguf, BadAlignmentIsRefused) {
  for (const std::uint32_t alignment : {0u, 3u, 33u, 1u << 31}) {
    GgufWriter writer = sound();
    writer.integer("general.alignment", alignment);
    EXPECT_THAT(message(writer), HasSubstr("'general.alignment': expected a power of two"))
        << alignment;
  }
  GgufWriter writer = sound();
  writer.text("general.alignment", "32");
  EXPECT_THAT(message(writer), HasSubstr("found a value of another type"));
}

TEST(MalformedGguf, TensorTypesThatAreNotSupportedAreNamed) {
  const auto found = [](std::uint32_t type) {
    GgufWriter writer;
    writer.tensor("blk.0.attn_q.weight", {256}, type, std::string(1024, 'x'));
    return message(writer);
  };
  EXPECT_EQ(found(16),
            "x.gguf: tensor 'blk.0.attn_q.weight', type: expected one of F32, F64, F16, BF16, "
            "Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, I8, I16, "
            "I32, I64, found IQ2_XXS (number 16)");
  EXPECT_THAT(found(39), HasSubstr("found MXFP4 (number 39)"));
  for (const std::uint32_t type : {4u, 5u, 31u, 42u, ~0u}) {
    EXPECT_THAT(found(type), HasSubstr("found an unknown one")) << type;
  }
  for (const std::uint32_t type :
       {0u, 1u, 2u, 3u, 6u, 7u, 8u, 10u, 11u, 12u, 13u, 14u, 20u, 23u, 24u, 25u, 26u, 30u}) {
    EXPECT_EQ(found(type), "no error") << type;
  }
}

TEST(MalformedGguf, BadShapesAreRefused) {
  const auto found = [](const std::vector<std::uint64_t>& shape, std::uint32_t type) {
    GgufWriter writer;
    writer.tensor("t", shape, type, std::string(4096, 'x'));
    return message(writer);
  };
  EXPECT_THAT(found({}, 0), HasSubstr("'t', rank: expected 1 to 4, found 0"));
  EXPECT_THAT(found({1, 1, 1, 1, 1}, 0), HasSubstr("'t', rank: expected 1 to 4, found 5"));
  EXPECT_THAT(found({2, 0}, 0), HasSubstr("found an extent of 0"));
  EXPECT_THAT(found({~std::uint64_t{0}}, 0), HasSubstr("'t', shape: expected extents"));
  EXPECT_THAT(found({1u << 31, 1u << 31, 2}, 0), HasSubstr("whose product is below 2^63"));
  EXPECT_THAT(found({std::uint64_t{1} << 62}, 0), HasSubstr("less than 2^64 bytes"));
  EXPECT_THAT(found({std::uint64_t{1} << 61}, 0), HasSubstr("the file is cut off or damaged"));
  EXPECT_THAT(
      found({32, 33}, 8),
      HasSubstr("shape: expected rows of a multiple of 32 elements for type Q8_0, found 33"));
  EXPECT_THAT(found({16, 16}, 3), HasSubstr("for type Q4_1, found 16"));
  EXPECT_EQ(found({33, 32}, 8), "no error");
}

TEST(MalformedGguf, BadPlacesAreRefused) {
  const std::vector<float> values(16, 1.f);
  const std::string content(64, 'x');
  const auto found = [&](std::uint64_t first, std::uint64_t second) {
    GgufWriter writer;
    writer.tensor("a", {16}, 0, content, first);
    writer.tensor("b", {16}, 0, content, second);
    return message(writer);
  };
  EXPECT_EQ(found(0, 64), "no error");
  EXPECT_EQ(found(64, 0), "no error");
  EXPECT_THAT(found(0, 32), HasSubstr("tensor 'b', offset: expected at least 64, where 'a' ends"));
  EXPECT_THAT(found(32, 0), HasSubstr("tensor 'a', offset: expected at least 64, where 'b' ends"));
  EXPECT_THAT(found(0, 0), HasSubstr("ends"));
  EXPECT_THAT(found(0, 65), HasSubstr("a multiple of the alignment 32, found 65"));
  EXPECT_THAT(found(0, 96), HasSubstr("tensor 'b', data: expected 64 bytes at offset 96"));
  EXPECT_THAT(found(0, std::uint64_t{1} << 63), HasSubstr("'b', data"));
  EXPECT_THAT(found(0, ~std::uint64_t{31}), HasSubstr("'b', data"));

  GgufWriter twice;
  twice.tensor("a", {16}, values);
  twice.tensor("a", {16}, values);
  EXPECT_THAT(message(twice), HasSubstr("tensor 'a', name: expected each name once"));
}

TEST(MalformedGguf, NamesStandInMessagesWithoutControlCharacters) {
  GgufWriter writer;
  writer.tensor("evil\n\x1b[31m" + std::string(500, 'x'), {1}, 12, "x");
  EXPECT_THAT(message(writer), AllOf(HasSubstr("tensor 'evil\\x0a\\x1b[31m"), HasSubstr("…'")));
  EXPECT_LT(message(writer).size(), 250u);
}

}  // namespace
}  // namespace poslens
