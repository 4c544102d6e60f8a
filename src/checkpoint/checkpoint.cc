#include "poslens/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "checkpoint/containers.h"
#include "checkpoint/gguf.h"
#include "checkpoint/mapped_file.h"
#include "poslens/error.h"
#include "poslens/hub_cache.h"

namespace poslens {
namespace {

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

void add_weights(Hash& hash, std::span<const std::byte> file, std::size_t header_bytes,
                 std::span<const TensorEntry> tensors) {
  constexpr std::size_t kSample = 64;
  const std::uint64_t size = file.size();
  hash.add(file.first(header_bytes)).add(std::as_bytes(std::span(&size, 1)));
  for (const TensorEntry& tensor : tensors) {
    hash.add(tensor.bytes.first(std::min(kSample, tensor.bytes.size())));
  }
}

std::unique_ptr<Checkpoint> Checkpoint::open(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return open_folder(path);
  // A safetensors file that starts so would have a header of a gigabyte, which none may have.
  auto file = std::make_shared<const MappedFile>(path);
  const bool is_gguf = looks_like_gguf(file->bytes());
  if (!is_gguf && path.extension() == ".safetensors") return open_safetensors(path);
  return open_gguf(path, std::move(file));
}

std::string Checkpoint::name() const {
  if (config() == nullptr) return text_or("general.name", path().stem().string());
  std::string name = hub_name(folder());
  return name.empty() ? std::filesystem::absolute(folder()).filename().string() : name;
}

const TensorEntry* Checkpoint::find(std::string_view name) const {
  const auto& all = tensors();
  const auto found = std::ranges::find(all, name, &TensorEntry::name);
  return found == all.end() ? nullptr : &*found;
}

const TensorEntry& Checkpoint::require(std::string_view name,
                                       const std::vector<std::int64_t>& shape) const {
  const TensorEntry* tensor = find(name);
  if (tensor != nullptr && tensor->shape == shape) {
    if (is_expandable(tensor->type)) return *tensor;
    throw Error(
        fmt::format("{}: tensor '{}': expected floating-point or ggml's quantised numbers, "
                    "found {}",
                    path().string(), name, to_string(tensor->type)));
  }
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
