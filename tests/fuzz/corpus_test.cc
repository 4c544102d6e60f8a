// Every file of the fuzzers' corpora, sound ones, and those that once were found to do harm, goes
// through what the fuzzers call, with any compiler.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "fuzz/entries.h"

namespace poslens {
namespace {

void run(const std::string& name, void (*entry)(std::span<const std::byte>)) {
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(
           std::filesystem::path(POSLENS_TEST_DATA) / "corpus" / name)) {
    std::ifstream stream(file.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    // A copy that ends where the file does, so that the sanitizer sees a read beyond.
    const auto copy = std::make_unique<std::byte[]>(bytes.size());
    if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
    EXPECT_NO_THROW(entry({copy.get(), bytes.size()})) << file.path();
    ++files;
  }
  EXPECT_GT(files, 10) << name;
}

TEST(Corpus, Safetensors) { run("safetensors", fuzz::safetensors); }
TEST(Corpus, Gguf) { run("gguf", fuzz::gguf); }
TEST(Corpus, Config) { run("config", fuzz::config); }
TEST(Corpus, Tokenizer) { run("tokenizer", fuzz::tokenizer); }
TEST(Corpus, GgufTokenizer) { run("gguf_tokenizer", fuzz::gguf_tokenizer); }

}  // namespace
}  // namespace poslens
