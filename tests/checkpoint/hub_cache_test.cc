// Models of the hub's cache, laid out as huggingface_hub does: links into blobs.

#include "poslens/hub_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "poslens/checkpoint.h"
#include "poslens/error.h"
#include "support/safetensors_writer.h"
#include "support/temporary_folder.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class HubCache : public testing::Test {
 protected:
  // Variables as a test wants them, and as they were when it ends.
  class Variable {
   public:
    Variable(const char* name, const std::string& value) : name_(name) {
      if (const char* before = getenv(name)) before_ = before;
      value.empty() ? unsetenv(name) : setenv(name, value.c_str(), 1);
    }
    ~Variable() { before_.empty() ? unsetenv(name_) : setenv(name_, before_.c_str(), 1); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

   private:
    const char* name_;
    std::string before_;
  };

  static void write(const fs::path& path, const std::string& content) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
  }
  // A snapshot of links, and a reference to it.
  static fs::path add(const fs::path& cache, const std::string& repository,
                      const std::string& reference, const std::string& commit) {
    const fs::path folder = cache / repository;
    SafetensorsWriter writer;
    writer.tensor("a", {2}, std::vector<float>{1, 2});
    write(folder / "blobs" / "weights", writer.bytes());
    write(folder / "blobs" / "config", R"({"model_type": "llama"})");
    fs::path snapshot = folder / "snapshots" / commit;
    fs::create_directories(snapshot);
    fs::create_symlink("../../blobs/weights", snapshot / "model.safetensors");
    fs::create_symlink("../../blobs/config", snapshot / "config.json");
    if (!reference.empty()) write(folder / "refs" / reference, commit);
    return snapshot;
  }
  static std::string message(const std::string& model) {
    try {
      find_model(model);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  TemporaryFolder folder_;
  fs::path home_ = folder_.path() / "home";
  Variable home_variable_{"HOME", home_.string()};
  Variable hub_cache_{"HF_HUB_CACHE", ""};
  Variable hf_home_{"HF_HOME", ""};
  Variable xdg_{"XDG_CACHE_HOME", ""};
};

TEST_F(HubCache, AnIdIsTheFolderOfItsMainRevision) {
  const fs::path cache = home_ / ".cache" / "huggingface" / "hub";
  const fs::path snapshot = add(cache, "models--org--Name-1.5_b", "main", "0123abc");
  const fs::path found = find_model("org/Name-1.5_b");
  EXPECT_EQ(found, snapshot);
  EXPECT_EQ(hub_name(found), "org/Name-1.5_b");
  const auto checkpoint = Checkpoint::open(found);
  EXPECT_EQ(checkpoint->name(), "org/Name-1.5_b");
  EXPECT_NE(checkpoint->find("a"), nullptr);

  const fs::path old = add(cache, "models--gpt2", "main", "77");
  EXPECT_EQ(find_model("gpt2"), old);
  EXPECT_EQ(hub_name(old), "gpt2");
}

TEST_F(HubCache, VariablesSayWhereTheCacheIs) {
  const fs::path in_home =
      add(home_ / ".cache" / "huggingface" / "hub", "models--o--m", "main", "1");
  const fs::path in_xdg =
      add(folder_.path() / "xdg" / "huggingface" / "hub", "models--o--m", "main", "2");
  const fs::path in_hf = add(home_ / "hf" / "hub", "models--o--m", "main", "3");
  const fs::path in_hub = add(folder_.path() / "cache", "models--o--m", "main", "4");
  EXPECT_EQ(find_model("o/m"), in_home);
  const Variable xdg{"XDG_CACHE_HOME", (folder_.path() / "xdg").string()};
  EXPECT_EQ(find_model("o/m"), in_xdg);
  const Variable hf{"HF_HOME", "~/hf"};
  EXPECT_EQ(find_model("o/m"), in_hf);
  const Variable hub{"HF_HUB_CACHE", (folder_.path() / "cache").string()};
  EXPECT_EQ(find_model("o/m"), in_hub);
}

TEST_F(HubCache, ARevisionIsABranchATagOrACommit) {
  const fs::path cache = home_ / ".cache" / "huggingface" / "hub";
  add(cache, "models--o--m", "main", "aaa");
  const fs::path branch = add(cache, "models--o--m", "v1.0", "bbb");
  const fs::path change = add(cache, "models--o--m", "refs/pr/1", "ccc");
  const fs::path commit = add(cache, "models--o--m", "", "ddd");
  EXPECT_EQ(find_model("o/m@v1.0"), branch);
  EXPECT_EQ(find_model("o/m@refs/pr/1"), change);
  EXPECT_EQ(find_model("o/m@ddd"), commit);
  EXPECT_EQ(message("o/m@v2"), "o/m@v2: expected revision v2 in the cache, found neither " +
                                   (cache / "models--o--m/refs/v2").string() + " nor " +
                                   (cache / "models--o--m/snapshots/v2").string() +
                                   "; there is @aaa, @bbb, @ccc, @ddd");
}

TEST_F(HubCache, AnExistingPathWins) {
  add(home_ / ".cache" / "huggingface" / "hub", "models--o--m", "main", "1");
  const fs::path before = fs::current_path();
  fs::create_directories(folder_.path() / "o" / "m");
  fs::current_path(folder_.path());
  EXPECT_EQ(find_model("o/m"), "o/m");
  fs::current_path(before);
  EXPECT_EQ(find_model("o/m").filename(), "1");
}

TEST_F(HubCache, ErrorsSayWhereItWasLookedFor) {
  const fs::path cache = home_ / ".cache" / "huggingface" / "hub";
  EXPECT_EQ(message("o/m"),
            "o/m: expected a file, a folder, or a model in the cache, found no such "
            "path and no " +
                (cache / "models--o--m").string());
  fs::create_directories(cache / "models--o--m" / "snapshots");
  EXPECT_THAT(message("o/m"), HasSubstr("there are no snapshots"));
  const Variable no_home{"HOME", ""};
  EXPECT_THAT(message("o/m"), HasSubstr("HOME: expected the home folder"));
}

TEST_F(HubCache, NoIdLeadsOutOfTheCache) {
  const fs::path cache = home_ / ".cache" / "huggingface" / "hub";
  for (const char* text :
       {"../x", "o/..", "o/m/n", "/o/m", "", "o//m", "o/m@", "o/m@../../x", "o/m@/etc", "o--p/m",
        "-o/m", "o/m.gguf", "x.safetensors", "o m", "o/\xff"}) {
    EXPECT_THAT(message(text), HasSubstr("or the id of a model")) << text;
  }
  add(cache, "models--o--m", "main", "1");
  write(cache / "models--o--m" / "refs" / "main", "../../../x");
  EXPECT_THAT(message("o/m"), AllOf(HasSubstr("refs/main: expected the name of a commit")));
}

TEST_F(HubCache, OtherFoldersHaveNoHubName) {
  EXPECT_EQ(hub_name("/data/models--o--m/x/1"), "");
  EXPECT_EQ(hub_name("/data/o/snapshots/1"), "");
  EXPECT_EQ(hub_name("model"), "");
}

}  // namespace
}  // namespace poslens
