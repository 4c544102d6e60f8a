// Real models' files, which POSLENS_SMOLLM2 and POSLENS_GEMMA3 name: every tensor comes out as gguf
// expands it. tools/golden/gguf_checksums.py made the tables.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <fstream>

#include "poslens/checkpoint.h"

namespace poslens {
namespace {

// sum_i (i + 1) bits_i mod 2^64, row by row.
std::uint64_t checksum(const TensorEntry& tensor) {
  std::vector<float> row(static_cast<std::size_t>(tensor.shape.back()));
  std::uint64_t sum = 0, place = 0;
  for (std::int64_t i = 0; i < tensor.elements() / std::ssize(row); ++i) {
    expand_rows(tensor, i, 1, row);
    for (const float value : row) sum += ++place * std::bit_cast<std::uint32_t>(value);
  }
  return sum;
}

void expect_as_gguf(const char* variable, const std::string& table) {
  const char* path = std::getenv(variable);
  ASSERT_NE(path, nullptr) << variable << " must name the model's GGUF file";
  const auto checkpoint = Checkpoint::open(path);
  std::ifstream lines(POSLENS_TEST_DATA "/" + table);
  std::size_t count = 0;
  for (std::string name, type, shape, sum; lines >> name >> type >> shape >> sum; ++count) {
    const TensorEntry* tensor = checkpoint->find(name);
    ASSERT_NE(tensor, nullptr) << name;
    EXPECT_EQ(to_string(tensor->type), type) << name;
    EXPECT_EQ(fmt::format("{}", fmt::join(tensor->shape, "x")), shape) << name;
    EXPECT_EQ(fmt::format("{:016x}", checksum(*tensor)), sum) << name;
  }
  EXPECT_EQ(count, checkpoint->tensors().size());
  EXPECT_GT(count, 0u);
}

TEST(RealFile, SmolLm2IsExpandedAsByGguf) { expect_as_gguf("POSLENS_SMOLLM2", "real_smollm2.txt"); }

TEST(RealFile, Gemma3IsExpandedAsByGguf) { expect_as_gguf("POSLENS_GEMMA3", "real_gemma3.txt"); }

}  // namespace
}  // namespace poslens
