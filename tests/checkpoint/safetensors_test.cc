// Safetensors files: those of other people's writers come out as numpy has them, and a damaged or
// hostile one gets one clear error. Run under the address sanitizer, these tests also see that
// nothing beyond the file is read.

#include "checkpoint/safetensors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <memory>

#include "checkpoint/mapped_file.h"
#include "poslens/error.h"
#include "poslens/npz.h"
#include "support/safetensors_writer.h"

namespace poslens {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::uint32_t> bits(std::span<const float> values) {
  std::vector<std::uint32_t> result;
  for (const float value : values) result.push_back(std::bit_cast<std::uint32_t>(value));
  return result;
}

void expect_equal(const TensorEntry* tensor, const std::string& name, const Array& expected) {
  ASSERT_NE(tensor, nullptr) << name;
  EXPECT_EQ(tensor->shape, expected.shape) << name;
  const auto values = expected.values<float>();
  std::vector<float> out(values.size());
  const std::int64_t row = tensor->shape.empty() ? 1 : tensor->shape.back();
  expand_rows(*tensor, 0, tensor->elements() / row, out);
  EXPECT_EQ(bits(out), bits(values)) << name;
}

// tools/golden/safetensors_fixtures.py wrote the files.
TEST(Safetensors, EveryTypeOfTheReferenceWriterIsRead) {
  const MappedFile file(POSLENS_TEST_DATA "/types.safetensors");
  const auto contents = parse_safetensors(file.bytes(), "types");
  const auto find = [&](const std::string& name) -> const TensorEntry* {
    const auto found = std::ranges::find(contents.tensors, name, &TensorEntry::name);
    return found == contents.tensors.end() ? nullptr : &*found;
  };
  const auto expected = read_npz(POSLENS_TEST_DATA "/types.npz").arrays;
  ASSERT_EQ(expected.size(), 6u);
  for (const auto& [name, array] : expected) expect_equal(find(name), name, array);
  for (const auto& [name, type] : {std::pair{"bool", TensorType::boolean},
                                   {"u8", TensorType::u8},
                                   {"i8", TensorType::i8},
                                   {"u16", TensorType::u16},
                                   {"i16", TensorType::i16},
                                   {"u32", TensorType::u32},
                                   {"i32", TensorType::i32},
                                   {"u64", TensorType::u64},
                                   {"i64", TensorType::i64},
                                   {"f8_e4m3", TensorType::f8_e4m3},
                                   {"f8_e5m2", TensorType::f8_e5m2}}) {
    const TensorEntry* tensor = find(name);
    ASSERT_NE(tensor, nullptr) << name;
    EXPECT_EQ(tensor->type, type) << name;
    EXPECT_EQ(std::ssize(tensor->bytes), 3 * layout_of(type).block_bytes) << name;
    EXPECT_FALSE(is_expandable(type)) << name;
  }
}

TEST(Safetensors, ShardsOfTheHubLibraryAreRead) {
  const auto checkpoint = Checkpoint::open(POSLENS_TEST_DATA "/sharded");
  EXPECT_EQ(checkpoint->format(), "safetensors, 3 shards");
  const auto expected = read_npz(POSLENS_TEST_DATA "/sharded.npz").arrays;
  ASSERT_EQ(checkpoint->tensors().size(), expected.size());
  for (const auto& [name, array] : expected) expect_equal(checkpoint->find(name), name, array);
}

// Parses a copy that ends where the bytes do, so that the sanitizer sees a read beyond.
std::string message(const std::string& bytes) {
  const auto copy = std::make_unique<std::byte[]>(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
  try {
    parse_safetensors({copy.get(), bytes.size()}, "x");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}
std::string message(const std::string& header, const std::string& data) {
  return message(SafetensorsWriter::file(header, data));
}
// A file of one tensor "t" with 8 bytes of data.
std::string message_of_line(const std::string& line) {
  return message(R"({"t":)" + line + "}", "12345678");
}

SafetensorsWriter sound() {
  SafetensorsWriter writer;
  writer.line("__metadata__", R"({"format":"pt"})");
  writer.tensor("first", {2, 2}, std::vector<float>{1, 2, 3, 4});
  writer.tensor("empty", "I64", {0}, "");
  writer.tensor("second", "BF16", {3}, "abcdef");
  return writer;
}

TEST(MalformedSafetensors, EveryTruncationIsAnError) {
  const std::string whole = sound().bytes();
  ASSERT_EQ(message(whole), "no error");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THAT(message(whole.substr(0, length)),
                AllOf(StartsWith("x: "), HasSubstr("expected"), HasSubstr("found")))
        << length;
  }
  EXPECT_EQ(message(whole.substr(0, 5)),
            "x: header length: expected 8 bytes, found 5: the file is cut off or damaged");
  EXPECT_EQ(message(whole.substr(0, whole.size() - 1)),
            "x: tensor 'second': expected data up to byte 22, found data of 21 bytes: the file is "
            "cut off or damaged");
}

// Whatever one byte of the header is changed to, the parser answers and reads nothing beyond.
TEST(MalformedSafetensors, AnyChangedByteIsSurvived) {
  const std::string whole = sound().bytes();
  const std::size_t header = whole.size() - 22;
  int sound_ones = 0;
  for (std::size_t at = 0; at < header; ++at) {
    for (const int value : {0, 1, 0x7f, 0x80, 0xff, static_cast<int>('0'), static_cast<int>('9'),
                            static_cast<int>('"'), static_cast<int>('['), static_cast<int>('}')}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(value);
      const std::string words = message(changed);
      EXPECT_THAT(words, testing::AnyOf("no error", StartsWith("x: "))) << at << ' ' << value;
      if (words == "no error") ++sound_ones;
    }
  }
  EXPECT_GT(sound_ones, 0);  // another letter in a name
}

TEST(MalformedSafetensors, TheHeadersLengthIsCheckedBeforeItIsUsed) {
  EXPECT_EQ(message(SafetensorsWriter::file_of_length(~std::uint64_t{0}, "{}", "")),
            "x: header length: expected at most 2, found 18446744073709551615: no safetensors "
            "file, or cut off");
  EXPECT_EQ(message(SafetensorsWriter::file_of_length(3, "{}", "")),
            "x: header length: expected at most 2, found 3: no safetensors file, or cut off");
  // The reference reader's limit, in a file that is long enough.
  const std::string zeros(100'000'001, '\0');  // NOLINT(bugprone-string-constructor)
  EXPECT_THAT(message(SafetensorsWriter::file_of_length(100'000'000, zeros, "")),
              HasSubstr("expected JSON"));
  EXPECT_THAT(message(SafetensorsWriter::file_of_length(100'000'001, zeros, "")),
              HasSubstr("header length: expected at most 100000000, found 100000001"));
}

TEST(MalformedSafetensors, TheHeaderIsAnObjectOfObjects) {
  EXPECT_EQ(message("[]", ""), "x: header: expected an object, found a list");
  EXPECT_EQ(message("3", ""), "x: header: expected an object, found 3");
  EXPECT_EQ(message("-3", ""), "x: header: expected an object, found -3");
  EXPECT_EQ(message("null", ""), "x: header: expected an object, found null");
  EXPECT_EQ(message("\"t\"", ""), "x: header: expected an object, found 't'");
  for (const std::string header :
       {"", "{", "{}{}", "{\"t\"}", "{\"t\":}", "{\"\xff\":{}}", "{,}"}) {
    EXPECT_THAT(message(header, ""), StartsWith("x: header: expected JSON, found parse error"))
        << header;
  }
  EXPECT_THAT(message_of_line("true"),
              HasSubstr("tensor 't': expected an object of dtype, shape and data_offsets, found"));
  EXPECT_THAT(message_of_line("[]"), HasSubstr("found a list"));
  EXPECT_THAT(message_of_line("\"F32\""), HasSubstr("found 'F32'"));
  EXPECT_THAT(message_of_line(std::string(100'000, '[')), HasSubstr("found a list"));
  EXPECT_THAT(message_of_line(std::string(100'000, '{')), HasSubstr("expected"));
  EXPECT_EQ(message(R"({"__metadata__":{"a":1}})", ""),
            "x: tensor '__metadata__', 'a': expected a text, found 1");
  EXPECT_THAT(message(R"({"__metadata__":{"a":[]}})", ""), HasSubstr("expected a text"));
  EXPECT_THAT(message(R"({"__metadata__":{"a":{}}})", ""), HasSubstr("found an object"));
}

TEST(MalformedSafetensors, FieldsHaveTheirTypes) {
  ASSERT_EQ(message_of_line(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})"), "no error");
  EXPECT_EQ(message_of_line(R"({"dtype":"F33","shape":[2],"data_offsets":[0,8]})"),
            "x: tensor 't', 'dtype': expected one of F64, F32, F16, BF16, BOOL, U8, I8, U16, I16, "
            "U32, I32, U64, I64, F8_E4M3, F8_E5M2, found 'F33'");
  const std::pair<const char*, const char*> cases[] = {
      {R"({"dtype":1,"shape":[2],"data_offsets":[0,8]})", "'dtype': expected the name of a type"},
      {R"({"dtype":["F32"],"shape":[2],"data_offsets":[0,8]})", "'dtype': expected the name"},
      {R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})", "'shape': expected a list, found 2"},
      {R"({"dtype":"F32","shape":"2","data_offsets":[0,8]})", "'shape': expected a list"},
      {R"({"dtype":"F32","shape":{},"data_offsets":[0,8]})", "expected a list, found an object"},
      {R"({"dtype":"F32","shape":null,"data_offsets":[0,8]})", "expected a list, found null"},
      {R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})", "expected numbers from 0, found -2"},
      {R"({"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})", "numbers from 0, found 2.0"},
      {R"({"dtype":"F32","shape":["2"],"data_offsets":[0,8]})", "numbers from 0, found '2'"},
      {R"({"dtype":"F32","shape":[[2]],"data_offsets":[0,8]})", "numbers from 0, found a list"},
      {R"({"dtype":"F32","shape":[{}],"data_offsets":[0,8]})", "numbers from 0, found an object"},
      {R"({"dtype":"F32","shape":[true],"data_offsets":[0,8]})", "found a boolean"},
      {R"({"dtype":"F32","shape":[2,1,1,1,1,1,1,1,1],"data_offsets":[0,8]})", "at most 8 numbers"},
      {R"({"dtype":"F32","shape":[2],"data_offsets":[0]})", "expected two numbers, found 1"},
      {R"({"dtype":"F32","shape":[2],"data_offsets":[]})", "expected two numbers, found 0"},
      {R"({"dtype":"F32","shape":[2],"data_offsets":[0,8,8]})", "at most 2 numbers, found more"},
      {R"({"dtype":"F32","shape":[2],"data_offsets":[0,1e300]})", "numbers from 0, found 1e300"},
      {R"({"dtype":"F32","shape":[2],"data_offsets":[0,99999999999999999999]})", "numbers from 0"},
      {R"({"dtype":"F32","shape":[2]})", "found no data_offsets"},
      {R"({"dtype":"F32","data_offsets":[0,8]})", "found no shape"},
      {R"({"shape":[2],"data_offsets":[0,8]})", "found no dtype"},
      {R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"size":8})", "found another key"}};
  for (const auto& [line, words] : cases) {
    EXPECT_THAT(message_of_line(line), AllOf(StartsWith("x: tensor 't'"), HasSubstr(words)))
        << line;
  }
}

TEST(MalformedSafetensors, NothingIsGivenTwice) {
  const std::string line = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_EQ(message(R"({"t":)" + line + R"(,"u":{"dtype":"F32","shape":[1],"data_offsets":[4,8]})" +
                        R"(,"t":)" + line + "}",
                    "12345678"),
            "x: tensor 't': expected each name once, found it twice");
  EXPECT_EQ(message_of_line(R"({"dtype":"F32","shape":[2],"dtype":"F16","data_offsets":[0,4]})"),
            "x: tensor 't', 'dtype': expected each key once, found it twice");
  EXPECT_THAT(message_of_line(R"({"dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8]})"),
              HasSubstr("each key once"));
  EXPECT_THAT(message(R"({"__metadata__":{"a":"1","a":"2"}})", ""), HasSubstr("each key once"));
  EXPECT_THAT(message(R"({"__metadata__":{},"__metadata__":{}})", ""), HasSubstr("each name once"));
}

TEST(MalformedSafetensors, TheDataFitTheShape) {
  EXPECT_EQ(
      message_of_line(R"({"dtype":"F32","shape":[1],"data_offsets":[0,8]})"),
      "x: tensor 't': expected data_offsets 4 apart, for its shape and type F32, found 0 to 8");
  EXPECT_THAT(message_of_line(R"({"dtype":"F64","shape":[],"data_offsets":[0,8]})"), "no error");
  EXPECT_THAT(message_of_line(R"({"dtype":"F32","shape":[],"data_offsets":[0,8]})"),
              HasSubstr("4 apart"));
  EXPECT_THAT(message_of_line(R"({"dtype":"F32","shape":[0],"data_offsets":[0,4]})"),
              HasSubstr("0 apart"));
  EXPECT_THAT(message_of_line(R"({"dtype":"F32","shape":[1],"data_offsets":[8,4]})"),
              HasSubstr("found 8 to 4"));
  EXPECT_THAT(message_of_line(R"({"dtype":"F32","shape":[1],"data_offsets":[6,10]})"),
              HasSubstr("expected data up to byte 10, found data of 8 bytes"));
  EXPECT_THAT(
      message_of_line(
          R"({"dtype":"U8","shape":[8],"data_offsets":[18446744073709551608,18446744073709551615]})"),
      HasSubstr("8 apart"));
  EXPECT_THAT(
      message_of_line(
          R"({"dtype":"U8","shape":[7],"data_offsets":[18446744073709551608,18446744073709551615]})"),
      HasSubstr("found data of 8 bytes"));
}

// Products of extents that would wrap round to what the offsets say.
TEST(MalformedSafetensors, ShapesDoNotOverflow) {
  for (const char* shape :
       {"4294967296,4294967296", "4294967296,4294967296,0", "0,4294967296,4294967296",
        "9223372036854775807,2", "18446744073709551615", "2305843009213693952"}) {
    EXPECT_THAT(message_of_line(
                    fmt::format(R"({{"dtype":"F32","shape":[{}],"data_offsets":[0,0]}})", shape)),
                HasSubstr("tensor 't': expected a shape of less than 2^63 bytes, found an extent"))
        << shape;
  }
  EXPECT_EQ(message_of_line(R"({"dtype":"F32","shape":[0,1000000000],"data_offsets":[8,8]})"),
            "no error");
}

TEST(MalformedSafetensors, TensorsLieApart) {
  const auto two = [](const char* first, const char* second) {
    return message(fmt::format(R"({{"a":{{"dtype":"U8","shape":[4],"data_offsets":[{}]}},)"
                               R"("b":{{"dtype":"U8","shape":[3],"data_offsets":[{}]}}}})",
                               first, second),
                   "12345678");
  };
  EXPECT_EQ(two("0,4", "4,7"), "no error");
  EXPECT_EQ(two("4,8", "0,3"), "no error");  // in any order, with a gap
  EXPECT_EQ(two("0,4", "3,6"),
            "x: tensor 'b': expected data_offsets apart from other tensors', found an overlap with "
            "'a'");
  EXPECT_THAT(two("2,6", "0,3"), HasSubstr("tensor 'a': expected data_offsets apart"));
  EXPECT_THAT(two("0,4", "0,3"), HasSubstr("an overlap"));
  EXPECT_THAT(two("0,4", "1,4"), HasSubstr("an overlap"));
  // Tensors without elements take no room.
  EXPECT_EQ(message(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},)"
                    R"("b":{"dtype":"U8","shape":[0],"data_offsets":[4,4]}})",
                    "12345678"),
            "no error");
}

}  // namespace
}  // namespace poslens
