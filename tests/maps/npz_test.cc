#include "poslens/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>

#include "poslens/error.h"
#include "support/temporary_folder.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void write(const fs::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

// A .npy file with this header dictionary, version 1.0 of the format.
std::string npy(const std::string& dictionary, std::string_view values) {
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(dictionary.size() & 0xff);
  text += static_cast<char>(dictionary.size() >> 8);
  return text + dictionary + std::string(values);
}

// What reading an archive with this one entry says.
std::string refusal(const std::string& name, const std::string& entry) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "a.npz";
  write_npz(path, {}, {{name, entry}});
  try {
    read_npz(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

// Both files hold what tools/golden/npz_fixture.py says.
class NumpyFile : public testing::TestWithParam<const char*> {};

TEST_P(NumpyFile, IsRead) {
  const NpzContents contents = read_npz(fs::path(POSLENS_TEST_DATA) / GetParam());
  ASSERT_EQ(contents.arrays.size(), 6);
  const Array& f32 = contents.arrays.at("f32");
  EXPECT_THAT(f32.shape, ElementsAre(2, 3));
  const std::vector<float> values = f32.values<float>();
  EXPECT_TRUE(std::isnan(values[2]));
  EXPECT_THAT(values, ElementsAre(0.5F, -1.25F, testing::_, 3.0F,
                                  std::numeric_limits<float>::infinity(), 1e-40F));
  EXPECT_THAT(contents.arrays.at("f64").values<double>(), ElementsAre(1.0 / 3, -2.5e300));
  EXPECT_THAT(contents.arrays.at("i32").values<std::int32_t>(), ElementsAre(INT32_MIN, INT32_MAX));
  EXPECT_THAT(contents.arrays.at("i64").shape, ElementsAre(1, 2, 1));
  EXPECT_THAT(contents.arrays.at("i64").values<std::int64_t>(), ElementsAre(INT64_MIN, INT64_MAX));
  EXPECT_THAT(contents.arrays.at("scalar").shape, ElementsAre());
  EXPECT_THAT(contents.arrays.at("scalar").values<std::int32_t>(), ElementsAre(7));
  EXPECT_THAT(contents.arrays.at("empty").shape, ElementsAre(0, 3));
  EXPECT_THAT(contents.arrays.at("empty").values<float>(), ElementsAre());
}

INSTANTIATE_TEST_SUITE_P(Files, NumpyFile, testing::Values("numpy.npz", "numpy_compressed.npz"));

TEST(Npz, EveryTypeRoundTrips) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "a.npz";
  const std::vector<float> f32 = {1.5F, -0.0F};
  const std::vector<double> f64 = {0.1, 1e-310, 3};
  const std::vector<std::int32_t> i32 = {-1, 2, 3, 4};
  const std::vector<std::int64_t> i64 = {INT64_MIN};
  write_npz(
      path,
      {array_ref("f32", {2, 1}, f32), array_ref("f64", {3}, f64), array_ref("i32", {2, 1, 2}, i32),
       array_ref("i64", {}, i64), array_ref("empty", {0, 5}, std::span<const float>())},
      {{"note.txt", "text\n"}});
  const NpzContents contents = read_npz(path);
  EXPECT_EQ(contents.arrays.size(), 5);
  EXPECT_EQ(contents.arrays.at("f32").values<float>(), f32);
  EXPECT_TRUE(std::signbit(contents.arrays.at("f32").values<float>()[1]));
  EXPECT_EQ(contents.arrays.at("f64").values<double>(), f64);
  EXPECT_EQ(contents.arrays.at("i32").values<std::int32_t>(), i32);
  EXPECT_EQ(contents.arrays.at("i64").values<std::int64_t>(), i64);
  EXPECT_THAT(contents.arrays.at("i32").shape, ElementsAre(2, 1, 2));
  EXPECT_THAT(contents.arrays.at("i64").shape, ElementsAre());
  EXPECT_THAT(contents.arrays.at("empty").shape, ElementsAre(0, 5));
  EXPECT_THAT(contents.texts, ElementsAre(testing::Pair("note.txt", "text\n")));
  EXPECT_THROW(contents.arrays.at("f32").values<double>(), std::logic_error);
}

TEST(Npz, ValuesMustFillTheShape) {
  EXPECT_THROW(array_ref("a", {2, 2}, std::vector<float>(3)), std::logic_error);
}

TEST(Npz, TheSameValuesGiveTheSameFile) {
  const TemporaryFolder folder;
  const std::vector<float> values(1000, 0.25F);
  for (const char* name : {"a.npz", "b.npz"}) {
    write_npz(folder.path() / name, {array_ref("x", {10, 100}, values)}, {{"t", "u"}});
  }
  EXPECT_EQ(content(folder.path() / "a.npz"), content(folder.path() / "b.npz"));
}

TEST(Npz, ReplacesAFileAndLeavesNothingElse) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "a.npz";
  for (const float value : {1.0F, 2.0F}) {
    write_npz(path, {array_ref("x", {1}, std::vector<float>{value})}, {});
  }
  EXPECT_THAT(read_npz(path).arrays.at("x").values<float>(), ElementsAre(2.0F));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(Npz, AFailedWriteKeepsTheOldFile) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "a.npz";
  const std::vector<float> values = {1.0F};
  const ArrayRef array = array_ref("x", {1}, values);
  write_npz(path, {array}, {});
  EXPECT_THROW(write_npz(path, {array, array}, {}), Error);  // no two entries of one name
  EXPECT_THAT(read_npz(path).arrays.at("x").values<float>(), ElementsAre(1.0F));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
  EXPECT_THROW(write_npz(folder.path() / "missing" / "a.npz", {array}, {}), Error);
}

TEST(Npz, BadHeadersAreRefused) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n";
  EXPECT_EQ(refusal("x.npy", npy(good, "1234")), "accepted");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string dictionary = good;
    dictionary.replace(dictionary.find(from), from.size(), to);
    return refusal("x.npy", npy(dictionary, "1234"));
  };
  EXPECT_THAT(with("<f4", "<f2"), HasSubstr("a.npz: x.npy: expected <f4, <f8, <i4 or <i8"));
  EXPECT_THAT(with("<f4", ">f4"), HasSubstr("found '>f4'"));
  EXPECT_THAT(with("'<f4'", "[('a', '<f4')]"), HasSubstr("expected <f4"));
  EXPECT_THAT(with("'<f4'", "'|O'"), HasSubstr("found '|O'"));
  EXPECT_THAT(with("False", "True"), HasSubstr("expected C order, found Fortran order"));
  EXPECT_THAT(with("(1,)", "(2,)"), HasSubstr("expected 8 bytes for shape [2], found 4"));
  EXPECT_THAT(with("(1,)", "(0,)"), HasSubstr("expected 0 bytes for shape [0], found 4"));
  EXPECT_THAT(with("(1,)", "(-1,)"), HasSubstr("header is damaged"));
  EXPECT_THAT(with("(1,)", "(1"), HasSubstr("header is damaged"));
  EXPECT_THAT(with("(1,)", "(4294967296, 4294967296, 4294967296)"), HasSubstr("too large"));
  EXPECT_THAT(with("(1,)", "(99999999999999999999,)"), HasSubstr("header is damaged"));
  EXPECT_THAT(with("descr", "dtype"), HasSubstr("header is damaged"));
  EXPECT_THAT(refusal("x.npy", "1234"), HasSubstr("no NumPy header"));
  EXPECT_THAT(refusal("x.npy", ""), HasSubstr("no NumPy header"));
  EXPECT_THAT(refusal("x.npy", npy(good, "").substr(0, 40)), HasSubstr("cut off"));
}

TEST(Npz, WhatIsNoArchiveIsRefused) {
  const TemporaryFolder folder;
  EXPECT_THROW(read_npz(folder.path() / "missing.npz"), Error);
  EXPECT_THROW(read_npz(folder.path()), Error);
  write(folder.path() / "a.npz", "this is no archive");
  EXPECT_THROW(read_npz(folder.path() / "a.npz"), Error);
  write(folder.path() / "a.npz", "");
  EXPECT_THROW(read_npz(folder.path() / "a.npz"), Error);
}

TEST(Npz, ACutFileIsRefusedWhereverItIsCut) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "a.npz";
  const std::string whole = content(fs::path(POSLENS_TEST_DATA) / "numpy_compressed.npz");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write(path, whole.substr(0, length));
    EXPECT_THROW(read_npz(path), Error) << length;
  }
}

// A changed byte may be harmless (a date), but it may only ever give an Error.
TEST(Npz, AChangedByteDoesNoHarm) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "a.npz";
  const std::string whole = content(fs::path(POSLENS_TEST_DATA) / "numpy_compressed.npz");
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int change : {0x01, 0xff}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ change);
      write(path, changed);
      try {
        read_npz(path);
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, std::ssize(whole) / 2);
}

}  // namespace
}  // namespace poslens
