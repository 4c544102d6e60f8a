// GGUF files, whole or in parts NAME-00001-of-00003.gguf, …, as llama-gguf-split writes them: the
// first has the metadata, each has split.no (from 0), split.count and split.tensors.count (of all
// parts together).

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "checkpoint/containers.h"
#include "checkpoint/gguf.h"
#include "checkpoint/printable.h"
#include "poslens/error.h"
#include "poslens/hash.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostParts = 99999;  // five digits

struct Part {
  Part(const fs::path& part_path, std::shared_ptr<const MappedFile> mapped)
      : path(part_path),
        file(std::move(mapped)),
        contents(parse_gguf(file->bytes(), part_path.string())) {}

  // An integer of the metadata; `otherwise` when there is none.
  std::int64_t integer_or(const std::string& key, std::int64_t otherwise) const {
    const auto found = contents.metadata.find(key);
    if (found == contents.metadata.end()) return otherwise;
    if (const auto* value = std::get_if<std::int64_t>(&found->second)) return *value;
    fail(key, "an integer", "a value of another type");
  }

  [[noreturn]] void fail(std::string_view key, std::string_view expected,
                         std::string_view found) const {
    throw Error(fmt::format("{}: metadata '{}': expected {}, found {}", path.string(), key,
                            expected, found));
  }

  void expect(const std::string& key, std::int64_t expected, std::string_view why) const {
    const std::int64_t found = integer_or(key, -1);
    if (found == expected) return;
    fail(key, fmt::format("{}, {}", expected, why),
         found == -1 ? "no such key" : fmt::to_string(found));
  }

  fs::path path;
  std::shared_ptr<const MappedFile> file;
  GgufContents contents;
};

class GgufCheckpoint : public Checkpoint {
 public:
  GgufCheckpoint(fs::path path, std::vector<Part> parts)
      : path_(std::move(path)), parts_(std::move(parts)) {
    for (const Part& part : parts_) {
      tensors_.insert(tensors_.end(), part.contents.tensors.begin(), part.contents.tensors.end());
    }
  }

  const fs::path& path() const override { return path_; }
  std::string format() const override {
    const std::string format = fmt::format("GGUF v{}", parts_.front().contents.version);
    return parts_.size() == 1 ? format : fmt::format("{}, {} parts", format, parts_.size());
  }
  const std::vector<TensorEntry>& tensors() const override { return tensors_; }
  const std::map<std::string, MetadataValue>& metadata() const override {
    return parts_.front().contents.metadata;
  }
  const Config* config() const override { return nullptr; }
  fs::path folder() const override { return path_.parent_path(); }

  std::string fingerprint() const override {
    Hash hash;
    for (const Part& part : parts_) {
      add_weights(hash, part.file->bytes(), part.contents.header_bytes, part.contents.tensors);
    }
    return hash.hex();
  }

 private:
  fs::path path_;
  std::vector<Part> parts_;
  std::vector<TensorEntry> tensors_;
};

std::string ending(std::int64_t number, std::int64_t count) {
  return fmt::format("-{:05}-of-{:05}.gguf", number + 1, count);
}

// The paths of all parts, by the one that was given.
std::vector<fs::path> paths_of_parts(const Part& given, std::int64_t count) {
  const std::int64_t number = given.integer_or("split.no", -1);
  if (number < 0 || number >= count) {
    given.fail("split.no", fmt::format("0 to {}", count - 1),
               number == -1 ? "no such key" : fmt::to_string(number));
  }
  const std::string name = given.path.filename().string();
  if (!name.ends_with(ending(number, count))) {
    throw Error(
        fmt::format("{}: one of {} parts: expected a name that ends in {}, by which the "
                    "others are found, found {}",
                    given.path.string(), count, ending(number, count), printable(name)));
  }
  const std::string stem = name.substr(0, name.size() - ending(number, count).size());
  std::vector<fs::path> paths;
  std::string missing;
  std::size_t missing_count = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string part = fmt::format("{}{}", stem, ending(i, count));
    paths.push_back(given.path.parent_path() / part);
    std::error_code ignored;
    if (fs::exists(paths.back(), ignored)) continue;
    if (++missing_count <= 3) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", part);
  }
  if (missing_count == 0) return paths;
  throw Error(fmt::format("{}: expected all {} parts, found no {}{}", given.path.string(), count,
                          missing, missing_count > 3 ? ", …" : ""));
}

std::vector<Part> open_parts(const std::vector<fs::path>& paths) {
  std::vector<Part> parts;
  std::set<std::string> names;
  for (const fs::path& path : paths) {
    const Part& part = parts.emplace_back(path, std::make_shared<const MappedFile>(path));
    part.expect("split.count", std::ssize(paths), "as another part has it");
    part.expect("split.no", std::ssize(parts) - 1, "as the file's name has it");
    for (const TensorEntry& tensor : part.contents.tensors) {
      if (names.insert(tensor.name).second) continue;
      throw Error(fmt::format("{}: tensor {}: expected in one part, found in an earlier one too",
                              path.string(), printable(tensor.name)));
    }
  }
  for (const Part& part : parts) {
    part.expect("split.tensors.count", std::ssize(names), "the tensors of all parts");
  }
  return parts;
}

}  // namespace

std::unique_ptr<Checkpoint> open_gguf(const fs::path& path,
                                      std::shared_ptr<const MappedFile> file) {
  Part part(path, std::move(file));
  const std::int64_t count = part.integer_or("split.count", 1);
  if (count < 1 || count > kMostParts) {
    part.fail("split.count", fmt::format("1 to {}", kMostParts), fmt::to_string(count));
  }
  std::vector<Part> parts;
  if (count == 1) {
    parts.push_back(std::move(part));
  } else {
    parts = open_parts(paths_of_parts(part, count));
  }
  return std::make_unique<GgufCheckpoint>(path, std::move(parts));
}

}  // namespace poslens
