// Hugging Face model folders: config.json and safetensors files.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "checkpoint/containers.h"
#include "checkpoint/json.h"
#include "checkpoint/printable.h"
#include "checkpoint/safetensors.h"
#include "poslens/error.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "config.json";
constexpr const char* kWeights = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

// Beyond any real one; bounds what parsing may allocate.
constexpr std::size_t kLargestJson = std::size_t{16} << 20;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::string_view json_text(const MappedFile& file, const fs::path& path) {
  const auto bytes = file.bytes();
  if (bytes.size() > kLargestJson) {
    throw Error(fmt::format("{}: expected at most {} bytes, found {}", path.string(), kLargestJson,
                            bytes.size()));
  }
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Tensor -> file, as model.safetensors.index.json has it.
using WeightMap = std::map<std::string, std::string>;

// A relative path that stays below the folder. What it names may be a link to elsewhere, as all
// files of the hub cache are: whoever can make links needs no index to do so.
bool stays_below(const fs::path& file) {
  return !file.empty() && file.is_relative() && file.has_filename() &&
         std::ranges::none_of(file, [](const fs::path& part) { return part == ".."; }) &&
         std::ranges::none_of(file.native(), [](char c) { return c == '\0'; });
}

WeightMap read_index(const fs::path& path) {
  const MappedFile file(path);
  const auto json = parse_json(json_text(file, path), path.string());
  const auto fail = [&](std::string_view field, std::string_view expected, std::string_view found) {
    throw Error(
        fmt::format("{}: {}: expected {}, found {}", path.string(), field, expected, found));
  };
  if (!json.is_object()) fail("index", "an object", kind_of(json));
  const auto map = json.find("weight_map");
  if (map == json.end()) fail("weight_map", "an object", "no such key");
  if (!map->is_object()) fail("weight_map", "an object", kind_of(*map));
  if (map->empty()) fail("weight_map", "a tensor at least", "none");
  WeightMap weights;
  for (const auto& [tensor, value] : map->items()) {
    const std::string field = fmt::format("weight_map, tensor {}", printable(tensor));
    if (!value.is_string()) fail(field, "a file name", kind_of(value));
    const auto& name = value.get_ref<const std::string&>();
    if (!stays_below(name)) fail(field, "a file of the folder", printable(name));
    weights.emplace(tensor, name);
  }
  return weights;
}

struct Shard {
  Shard(const fs::path& file_path, std::string shard_name)
      : name(std::move(shard_name)),
        file(file_path),
        contents(parse_safetensors(file.bytes(), file_path.string())) {}

  std::string name;
  MappedFile file;
  SafetensorsContents contents;
};

class FolderCheckpoint : public Checkpoint {
 public:
  FolderCheckpoint(fs::path path, fs::path folder)
      : path_(std::move(path)),
        folder_(std::move(folder)),
        config_file_(folder_ / kConfig),
        config_(Config::parse(json_text(config_file_, folder_ / kConfig),
                              (folder_ / kConfig).string())) {}

  void add_shard(const std::string& name) {
    auto shard = std::make_unique<Shard>(folder_ / name, name);
    const auto& found = shard->contents.tensors;
    for (const TensorEntry& tensor : found) {
      const auto [other, is_new] = shard_of_.emplace(tensor.name, shards_.size());
      if (is_new) continue;
      throw Error(fmt::format("{}: tensor {}: expected in one shard, found in {} and {}",
                              path_.string(), printable(tensor.name), shards_[other->second]->name,
                              name));
    }
    tensors_.insert(tensors_.end(), found.begin(), found.end());
    shards_.push_back(std::move(shard));
  }

  // Throws Error unless every tensor of the index is in its shard.
  void check_against(const WeightMap& weights) const {
    for (const auto& [tensor, file] : weights) {
      const auto found = shard_of_.find(tensor);
      if (found != shard_of_.end() && shards_[found->second]->name == file) continue;
      throw Error(fmt::format("{}: weight_map, tensor {}: expected in {}, found {}",
                              (folder_ / kIndex).string(), printable(tensor), file,
                              found == shard_of_.end()
                                  ? "in no shard"
                                  : fmt::format("in {}", shards_[found->second]->name)));
    }
  }

  const fs::path& path() const override { return path_; }
  std::string format() const override {
    return shards_.size() == 1 ? "safetensors"
                               : fmt::format("safetensors, {} shards", shards_.size());
  }
  const std::vector<TensorEntry>& tensors() const override { return tensors_; }
  const std::map<std::string, MetadataValue>& metadata() const override { return metadata_; }
  const Config* config() const override { return &config_; }
  fs::path folder() const override { return folder_; }

  std::string fingerprint() const override {
    Hash hash;
    hash.add(config_file_.bytes());
    for (const auto& shard : shards_) {
      add_weights(hash, shard->file.bytes(), shard->contents.header_bytes, shard->contents.tensors);
    }
    return hash.hex();
  }

 private:
  fs::path path_;
  fs::path folder_;
  MappedFile config_file_;
  Config config_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::map<std::string, std::size_t> shard_of_;  // by tensor
  std::vector<TensorEntry> tensors_;
  std::map<std::string, MetadataValue> metadata_;  // empty
};

std::unique_ptr<Checkpoint> open_sharded(const fs::path& folder, const WeightMap& weights) {
  std::set<std::string> files;
  for (const auto& [tensor, file] : weights) files.insert(file);
  for (const std::string& file : files) {
    if (is_there(folder / file)) continue;
    throw Error(fmt::format("{}: expected all {} shards that {} names, found no {}",
                            folder.string(), files.size(), kIndex, file));
  }
  auto checkpoint = std::make_unique<FolderCheckpoint>(folder, folder);
  for (const std::string& file : files) checkpoint->add_shard(file);
  checkpoint->check_against(weights);
  return checkpoint;
}

// What else a folder holds that someone may have meant.
std::string weights_of_other_kinds(const fs::path& folder) {
  std::string found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const fs::path name = entry.path().filename();
    const std::string extension = name.extension().string();
    if (extension == ".gguf" || extension == ".safetensors" || extension == ".bin" ||
        extension == ".pth" || extension == ".pt") {
      if (found.empty() || name < found) found = name.string();
    }
  }
  return found.empty() ? "neither" : fmt::format("neither (there is {})", found);
}

}  // namespace

std::unique_ptr<Checkpoint> open_folder(const fs::path& path) {
  const fs::path folder = path.has_filename() ? path : path.parent_path();  // "model/" is "model"
  // The order that transformers looks in.
  if (is_there(folder / kWeights)) {
    auto checkpoint = std::make_unique<FolderCheckpoint>(folder, folder);
    checkpoint->add_shard(kWeights);
    return checkpoint;
  }
  if (is_there(folder / kIndex)) return open_sharded(folder, read_index(folder / kIndex));
  throw Error(fmt::format("{}: expected {} or {}, found {}", folder.string(), kWeights, kIndex,
                          weights_of_other_kinds(folder)));
}

std::unique_ptr<Checkpoint> open_safetensors(const fs::path& file) {
  const fs::path folder = file.parent_path();
  if (is_there(folder / kIndex)) {
    const WeightMap weights = read_index(folder / kIndex);
    const std::string name = file.filename().string();
    if (std::ranges::any_of(weights, [&](const auto& entry) { return entry.second == name; })) {
      return open_sharded(folder, weights);
    }
  }
  auto checkpoint = std::make_unique<FolderCheckpoint>(file, folder);
  checkpoint->add_shard(file.filename().string());
  return checkpoint;
}

}  // namespace poslens
