// Hugging Face model folders: config.json, one safetensors file or shards with an index.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "poslens/checkpoint.h"
#include "poslens/error.h"
#include "support/safetensors_writer.h"
#include "support/temporary_folder.h"

namespace poslens {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kFirst = "model-00001-of-00002.safetensors";
constexpr const char* kSecond = "model-00002-of-00002.safetensors";

class Folder : public testing::Test {
 protected:
  Folder() { write("config.json", R"({"model_type": "llama"})"); }

  std::filesystem::path path(const std::string& name = "") const {
    return name.empty() ? folder_.path() : folder_.path() / name;
  }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
  }
  static SafetensorsWriter with(const std::string& name, std::vector<float> values) {
    SafetensorsWriter writer;
    writer.tensor(name, {values.size()}, values);
    return writer;
  }
  void write_index(const std::map<std::string, std::string>& weight_map) const {
    std::string entries;
    for (const auto& [tensor, file] : weight_map) {
      entries.append(entries.empty() ? "\"" : ",\"").append(tensor);
      entries.append("\": \"").append(file).append("\"");
    }
    write(kIndex, R"({"metadata": {"total_size": 1}, "weight_map": {)" + entries + "}}");
  }
  // Two shards, "a" in the first and "b" in the second.
  void write_shards() const {
    with("a", {1, 2}).write(path(kFirst));
    with("b", {3}).write(path(kSecond));
    write_index({{"a", kFirst}, {"b", kSecond}});
  }
  std::string message() const { return message(path()); }
  static std::string message(const std::filesystem::path& file) {
    try {
      Checkpoint::open(file);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  static std::vector<float> values(const Checkpoint& checkpoint, const std::string& name) {
    const TensorEntry* tensor = checkpoint.find(name);
    if (tensor == nullptr) return {};
    std::vector<float> result(static_cast<std::size_t>(tensor->elements()));
    expand_rows(*tensor, 0, 1, result);
    return result;
  }

  TemporaryFolder folder_;
};

TEST_F(Folder, OfOneFile) {
  with("a", {1, 2}).write(path("model.safetensors"));
  for (const auto& given : {path(), path("model.safetensors"), path() / ""}) {
    const auto checkpoint = Checkpoint::open(given);
    EXPECT_EQ(checkpoint->format(), "safetensors");
    EXPECT_EQ(checkpoint->folder(), path());
    ASSERT_NE(checkpoint->config(), nullptr);
    EXPECT_EQ(checkpoint->config()->text("model_type"), "llama");
    EXPECT_EQ(values(*checkpoint, "a"), (std::vector<float>{1, 2}));
    EXPECT_TRUE(checkpoint->metadata().empty());
  }
}

TEST_F(Folder, OfShards) {
  write_shards();
  // A shard stands for the whole.
  for (const auto& given : {path(), path(kSecond)}) {
    const auto checkpoint = Checkpoint::open(given);
    EXPECT_EQ(checkpoint->format(), "safetensors, 2 shards");
    EXPECT_EQ(checkpoint->path(), path());
    ASSERT_EQ(checkpoint->tensors().size(), 2u);
    EXPECT_EQ(values(*checkpoint, "a"), (std::vector<float>{1, 2}));
    EXPECT_EQ(values(*checkpoint, "b"), (std::vector<float>{3}));
  }
}

TEST_F(Folder, AMissingShardIsNamedAtOpening) {
  write_shards();
  std::filesystem::remove(path(kSecond));
  EXPECT_EQ(message(), path().string() + ": expected all 2 shards that " + kIndex +
                           " names, found no " + kSecond);
}

TEST_F(Folder, ATensorThatIsNotWhereTheIndexSaysIsRefused) {
  write_shards();
  write_index({{"a", kFirst}, {"b", kSecond}, {"c", kSecond}});
  EXPECT_EQ(message(), path(kIndex).string() + ": weight_map, tensor 'c': expected in " + kSecond +
                           ", found in no shard");
  write_index({{"a", kSecond}, {"b", kFirst}});
  EXPECT_EQ(message(), path(kIndex).string() + ": weight_map, tensor 'a': expected in " + kSecond +
                           ", found in " + kFirst);
}

TEST_F(Folder, ATensorInTwoShardsIsRefused) {
  write_shards();
  with("a", {3}).write(path(kSecond));
  EXPECT_EQ(message(), path().string() + ": tensor 'a': expected in one shard, found in " + kFirst +
                           " and " + kSecond);
}

TEST_F(Folder, NothingOutsideTheFolderIsOpened) {
  write_shards();
  for (const std::string file : {"../x.safetensors", "/etc/passwd", "sub/../../x.safetensors", "..",
                                 "", "sub/", R"(model.safetensors\u0000)"}) {
    write_index({{"a", file}, {"b", kSecond}});
    EXPECT_THAT(message(), HasSubstr("weight_map, tensor 'a': expected a file of the folder"))
        << file;
  }
  std::filesystem::create_directory(path("sub"));
  std::filesystem::rename(path(kFirst), path("sub") / kFirst);
  write_index({{"a", std::string("sub/") + kFirst}, {"b", kSecond}});
  EXPECT_EQ(message(), "no error");
}

TEST_F(Folder, AnIndexOfAnotherFormIsRefused) {
  write_shards();
  for (const auto& [json, words] : std::map<std::string, std::string>{
           {"[]", "index: expected an object, found a list"},
           {"{}", "weight_map: expected an object, found no such key"},
           {R"({"weight_map": []})", "weight_map: expected an object, found a list"},
           {R"({"weight_map": {}})", "expected a tensor at least, found none"},
           {R"({"weight_map": {"a": 1}})", "tensor 'a': expected a file name, found the number 1"},
           {R"({"weight_map": {"a": "x", "a": "y"}})", "each key once"},
           {R"({"weight_map": )", "expected JSON"}}) {
    write(kIndex, json);
    EXPECT_THAT(message(), AllOf(HasSubstr(path(kIndex).string() + ": "), HasSubstr(words)))
        << json;
  }
}

// The index and the shards' headers cut off anywhere get an error, never a part of the model.
TEST_F(Folder, EveryTruncationIsAnError) {
  for (const auto& name : {std::string(kIndex), std::string(kFirst), std::string(kSecond),
                           std::string("config.json")}) {
    write_shards();
    write("config.json", R"({"model_type": "llama"})");
    std::ifstream stream(path(name), std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(stream), {}};
    ASSERT_EQ(message(), "no error");
    for (std::size_t length = 0; length < whole.size(); ++length) {
      write(name, whole.substr(0, length));
      EXPECT_THAT(message(), AllOf(HasSubstr(path(name).string()), HasSubstr("expected")))
          << name << ' ' << length;
    }
  }
}

TEST_F(Folder, WithoutWeightsOrConfigIsRefused) {
  EXPECT_EQ(message(),
            path().string() + ": expected model.safetensors or " + kIndex + ", found neither");
  write("pytorch_model.bin", "");
  EXPECT_THAT(message(), HasSubstr("found neither (there is pytorch_model.bin)"));
  with("a", {1}).write(path("model.safetensors"));
  std::filesystem::remove(path("config.json"));
  EXPECT_THAT(message(), HasSubstr("config.json: cannot be read: No such file"));
}

TEST_F(Folder, AVastConfigIsRefusedUnread) {
  with("a", {1}).write(path("model.safetensors"));
  std::filesystem::resize_file(path("config.json"), (std::size_t{16} << 20) + 1);
  EXPECT_THAT(message(), HasSubstr("config.json: expected at most 16777216 bytes, found 16777217"));
}

TEST_F(Folder, OnlyRealNumbersAreWeights) {
  SafetensorsWriter writer;
  writer.tensor("mask", "BOOL", {2}, "\1\1");
  writer.write(path("model.safetensors"));
  const auto checkpoint = Checkpoint::open(path());
  std::vector<float> out(2);
  EXPECT_THROW(expand_rows(*checkpoint->find("mask"), 0, 1, out), Error);
  try {
    checkpoint->require("mask", {2});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("tensor 'mask': expected floating-point or ggml's "
                                        "quantised numbers, found BOOL"));
  }
}

TEST_F(Folder, FingerprintTellsModelsApart) {
  const auto fingerprint = [&] { return Checkpoint::open(path())->fingerprint(); };
  write_shards();
  const std::string first = fingerprint();
  EXPECT_EQ(fingerprint(), first);
  with("b", {4}).write(path(kSecond));
  const std::string other_weights = fingerprint();
  EXPECT_NE(other_weights, first);
  write("config.json", R"({"model_type":  "llama"})");
  EXPECT_NE(fingerprint(), other_weights);
}

// What the header of Checkpoint::fingerprint() says, by hand.
TEST_F(Folder, FingerprintIsFnv1a) {
  write_shards();
  const std::string first = with("a", {1, 2}).bytes(), second = with("b", {3}).bytes();
  std::string hashed = R"({"model_type": "llama"})";
  for (const std::string& file : {first, second}) {
    const std::uint64_t size = file.size();
    const std::size_t header = 8 + static_cast<unsigned char>(file[0]);
    hashed += file.substr(0, header);
    hashed.append(reinterpret_cast<const char*>(&size), sizeof size);
    hashed += file.substr(header);
  }
  std::uint64_t hash = 14695981039346656037u;  // offset basis
  for (const char byte : hashed) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211u;  // prime
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  EXPECT_EQ(Checkpoint::open(path())->fingerprint(), text);
}

}  // namespace
}  // namespace poslens
