#pragma once
// The GGUF container, version 2 and 3, little-endian:
//   "GGUF", u32 version, u64 tensor count, u64 metadata count,
//   metadata: key, u32 value type, value;
//   tensors: name, u32 rank, u64 extents (fastest first), u32 type, u64 offset in the data;
//   padding to general.alignment (32), data.
// Texts are a u64 length and bytes. https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "poslens/checkpoint.h"

namespace poslens {

struct GgufContents {
  std::uint32_t version = 0;
  std::map<std::string, MetadataValue> metadata;
  std::vector<TensorEntry> tensors;  // in the file's order; their bytes lie within the file's
  std::size_t header_bytes = 0;      // up to the end of the tensor descriptions
};

bool looks_like_gguf(std::span<const std::byte> file);

// A function of the bytes alone: allocates no more than a small multiple of what is there, and
// throws Error for whatever else than a whole GGUF file it is given. file_name is for messages.
GgufContents parse_gguf(std::span<const std::byte> file, const std::string& file_name);

}  // namespace poslens
