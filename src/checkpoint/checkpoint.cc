#include "poslens/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "checkpoint/gguf.h"
#include "checkpoint/mapped_file.h"
#include "poslens/error.h"

namespace poslens {
namespace {

// FNV-1a, 64 bits (Fowler, Noll, Vo): h <- (h xor byte) * prime.
class Fnv1a {
 public:
  void add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      hash_ = (hash_ ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3u;
    }
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

class GgufCheckpoint : public Checkpoint {
 public:
  explicit GgufCheckpoint(const std::filesystem::path& path)
      : path_(path), file_(path), contents_(parse_gguf(file_.bytes(), path.string())) {}

  const std::filesystem::path& path() const override { return path_; }
  std::string format() const override { return fmt::format("GGUF v{}", contents_.version); }
  const std::vector<TensorEntry>& tensors() const override { return contents_.tensors; }
  const std::map<std::string, MetadataValue>& metadata() const override {
    return contents_.metadata;
  }

  std::string fingerprint() const override {
    constexpr std::size_t kSample = 64;
    Fnv1a hash;
    hash.add(file_.bytes().first(contents_.header_bytes));
    const std::uint64_t size = file_.bytes().size();
    hash.add(std::as_bytes(std::span(&size, 1)));
    for (const TensorEntry& tensor : contents_.tensors) {
      hash.add(tensor.bytes.first(std::min(kSample, tensor.bytes.size())));
    }
    return fmt::format("{:016x}", hash.value());
  }

 private:
  std::filesystem::path path_;
  MappedFile file_;
  GgufContents contents_;
};

std::string kind_of(const MetadataValue& value) {
  constexpr std::string_view kKinds[] = {"a boolean",
                                         "an integer",
                                         "an integer above 2^63",
                                         "a number with a fraction",
                                         "a text",
                                         "an array of booleans",
                                         "an array of integers",
                                         "an array of numbers",
                                         "an array of texts"};
  static_assert(std::size(kKinds) == std::variant_size_v<MetadataValue>);
  return std::string(kKinds[value.index()]);
}

const MetadataValue* lookup(const Checkpoint& checkpoint, std::string_view key) {
  const auto found = checkpoint.metadata().find(std::string(key));
  return found == checkpoint.metadata().end() ? nullptr : &found->second;
}

const MetadataValue& demand(const Checkpoint& checkpoint, std::string_view key,
                            std::string_view expected) {
  const MetadataValue* value = lookup(checkpoint, key);
  if (value != nullptr) return *value;
  throw Error(fmt::format("{}: metadata '{}': expected {}, found no such key",
                          checkpoint.path().string(), key, expected));
}

template <typename T>
const T& as(const Checkpoint& checkpoint, std::string_view key, const MetadataValue& value,
            std::string_view expected) {
  if (const T* result = std::get_if<T>(&value)) return *result;
  throw Error(fmt::format("{}: metadata '{}': expected {}, found {}", checkpoint.path().string(),
                          key, expected, kind_of(value)));
}

template <typename T>
const T& required(const Checkpoint& checkpoint, std::string_view key, std::string_view expected) {
  return as<T>(checkpoint, key, demand(checkpoint, key, expected), expected);
}

}  // namespace

std::unique_ptr<Checkpoint> Checkpoint::open(const std::filesystem::path& path) {
  auto checkpoint = std::make_unique<GgufCheckpoint>(path);
  const std::int64_t parts = checkpoint->integer_or("split.count", 1);
  if (parts > 1) {
    throw Error(
        fmt::format("{}: metadata 'split.count': expected a whole model in one file, found "
                    "one of {} parts; llama.cpp's llama-gguf-split --merge joins them",
                    path.string(), parts));
  }
  return checkpoint;
}

const TensorEntry* Checkpoint::find(std::string_view name) const {
  const auto& all = tensors();
  const auto found = std::ranges::find(all, name, &TensorEntry::name);
  return found == all.end() ? nullptr : &*found;
}

const TensorEntry& Checkpoint::require(std::string_view name,
                                       const std::vector<std::int64_t>& shape) const {
  const TensorEntry* tensor = find(name);
  if (tensor != nullptr && tensor->shape == shape) return *tensor;
  throw Error(fmt::format(
      "{}: tensor '{}': expected shape [{}], found {}", path().string(), name,
      fmt::join(shape, ", "),
      tensor == nullptr ? "no such tensor" : fmt::format("[{}]", fmt::join(tensor->shape, ", "))));
}

std::int64_t Checkpoint::integer(std::string_view key) const {
  return required<std::int64_t>(*this, key, "an integer");
}

std::int64_t Checkpoint::integer_or(std::string_view key, std::int64_t otherwise) const {
  return has(key) ? integer(key) : otherwise;
}

double Checkpoint::number(std::string_view key) const {
  constexpr std::string_view kExpected = "a number";
  const MetadataValue& value = demand(*this, key, kExpected);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  return as<double>(*this, key, value, kExpected);
}

double Checkpoint::number_or(std::string_view key, double otherwise) const {
  return has(key) ? number(key) : otherwise;
}

std::string Checkpoint::text(std::string_view key) const {
  return required<std::string>(*this, key, "a text");
}

std::string Checkpoint::text_or(std::string_view key, std::string_view otherwise) const {
  return has(key) ? text(key) : std::string(otherwise);
}

bool Checkpoint::boolean_or(std::string_view key, bool otherwise) const {
  return has(key) ? required<bool>(*this, key, "a boolean") : otherwise;
}

bool Checkpoint::has(std::string_view key) const { return lookup(*this, key) != nullptr; }

const std::vector<std::string>& Checkpoint::texts(std::string_view key) const {
  return required<std::vector<std::string>>(*this, key, "an array of texts");
}

const std::vector<std::int64_t>& Checkpoint::integers(std::string_view key) const {
  return required<std::vector<std::int64_t>>(*this, key, "an array of integers");
}

}  // namespace poslens
