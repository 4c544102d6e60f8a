#pragma once
// Model files: named tensors and metadata, whatever the container. Tensors stay in the
// memory-mapped file until they are expanded.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "poslens/config.h"

namespace poslens {

// Types of real numbers, plain and in ggml's blocks, and those that weights are not kept in.
enum class TensorType {
  f64,
  f32,
  f16,
  bf16,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  iq4_nl,
  iq4_xs,
  boolean,
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  u64,
  i64,
  f8_e4m3,
  f8_e5m2,
};
std::string to_string(TensorType type);
// Whether expand_rows knows the type.
bool is_expandable(TensorType type);

// Elements in one quantised block (1 for plain types) and the block's bytes.
struct TensorLayout {
  std::int64_t block_elements;
  std::int64_t block_bytes;
};
TensorLayout layout_of(TensorType type);

// A tensor in a mapped file; row-major, the last extent varies fastest (the reverse of the order in
// GGUF files). Its row length is a multiple of the block's elements. The bytes need not be aligned.
struct TensorEntry {
  std::string name;
  TensorType type = TensorType::f32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;

  std::int64_t elements() const;
};

// Writes rows first..first+count-1 of a tensor (a vector is one row) as f32, of F64 the nearest;
// out has count * (row length) elements. Throws Error for a type that is not expandable.
void expand_rows(const TensorEntry& tensor, std::int64_t first, std::int64_t count,
                 std::span<float> out);

// A metadata value as GGUF has them; integers are widened.
using MetadataValue =
    std::variant<bool, std::int64_t, std::uint64_t, double, std::string, std::vector<bool>,
                 std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>>;

// A read-only model file. Throws Error naming file, field, expected and found.
class Checkpoint {
 public:
  virtual ~Checkpoint() = default;

  // A GGUF file (version 2 or 3, little-endian), a Hugging Face model folder (config.json and
  // model.safetensors, or the shards that model.safetensors.index.json names), or one .safetensors
  // file with config.json beside it. Everything in the headers is checked before use: lengths,
  // offsets, overlap, duplicate names; every shard is opened.
  static std::unique_ptr<Checkpoint> open(const std::filesystem::path& path);

  // The file or folder, for messages.
  virtual const std::filesystem::path& path() const = 0;
  // "GGUF v3" or "safetensors, 2 shards", say.
  virtual std::string format() const = 0;
  // All shards', each name once.
  virtual const std::vector<TensorEntry>& tensors() const = 0;
  // Of GGUF files; empty for a folder.
  virtual const std::map<std::string, MetadataValue>& metadata() const = 0;
  // config.json of a folder; nullptr for GGUF files.
  virtual const Config* config() const = 0;
  // Where config.json, tokenizer.json and the like stand.
  virtual std::filesystem::path folder() const = 0;

  // Names the weights in artefacts: 64-bit FNV-1a, as 16 hexadecimal digits, of config.json where
  // there is one and then, for each weight file in the order of names, the header (GGUF: metadata
  // and tensor descriptions; safetensors: the header's length and JSON), the file's size (8 bytes,
  // little-endian) and the first 64 bytes of each tensor in the header's order. Tells files apart
  // without reading them; no proof against intent.
  virtual std::string fingerprint() const = 0;

  // For people: general.name of a GGUF file or else its name; what the hub calls a folder or else
  // the folder's name.
  std::string name() const;

  // nullptr when there is none of that name.
  const TensorEntry* find(std::string_view name) const;
  // Throws Error unless the tensor is there with exactly this shape and an expandable type.
  const TensorEntry& require(std::string_view name, const std::vector<std::int64_t>& shape) const;

  // Metadata by key. The first forms throw Error when the key is missing or of another type.
  std::int64_t integer(std::string_view key) const;
  std::int64_t integer_or(std::string_view key, std::int64_t otherwise) const;
  double number(std::string_view key) const;
  double number_or(std::string_view key, double otherwise) const;
  std::string text(std::string_view key) const;
  std::string text_or(std::string_view key, std::string_view otherwise) const;
  bool boolean_or(std::string_view key, bool otherwise) const;
  bool has(std::string_view key) const;
  const std::vector<std::string>& texts(std::string_view key) const;
  const std::vector<std::int64_t>& integers(std::string_view key) const;
};

}  // namespace poslens
