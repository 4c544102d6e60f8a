#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "checkpoint/containers.h"
#include "checkpoint/gguf.h"
#include "poslens/error.h"
#include "poslens/hash.h"

namespace poslens {
namespace {

class GgufCheckpoint : public Checkpoint {
 public:
  GgufCheckpoint(const std::filesystem::path& path, std::shared_ptr<const MappedFile> file)
      : path_(path), file_(std::move(file)), contents_(parse_gguf(file_->bytes(), path.string())) {}

  const std::filesystem::path& path() const override { return path_; }
  std::string format() const override { return fmt::format("GGUF v{}", contents_.version); }
  const std::vector<TensorEntry>& tensors() const override { return contents_.tensors; }
  const std::map<std::string, MetadataValue>& metadata() const override {
    return contents_.metadata;
  }
  const Config* config() const override { return nullptr; }
  std::filesystem::path folder() const override { return path_.parent_path(); }

  std::string fingerprint() const override {
    Hash hash;
    add_weights(hash, file_->bytes(), contents_.header_bytes, contents_.tensors);
    return hash.hex();
  }

 private:
  std::filesystem::path path_;
  std::shared_ptr<const MappedFile> file_;
  GgufContents contents_;
};

}  // namespace

std::unique_ptr<Checkpoint> open_gguf(const std::filesystem::path& path,
                                      std::shared_ptr<const MappedFile> file) {
  auto checkpoint = std::make_unique<GgufCheckpoint>(path, std::move(file));
  const std::int64_t parts = checkpoint->integer_or("split.count", 1);
  if (parts > 1) {
    throw Error(
        fmt::format("{}: metadata 'split.count': expected a whole model in one file, found "
                    "one of {} parts; llama.cpp's llama-gguf-split --merge joins them",
                    path.string(), parts));
  }
  return checkpoint;
}

}  // namespace poslens
