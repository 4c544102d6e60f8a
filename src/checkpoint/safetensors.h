#pragma once
// The safetensors container: u64 length of the header, the header (JSON: for each tensor its dtype,
// shape and the begin and end of its bytes in the data), data. Little-endian, row-major.
// https://github.com/huggingface/safetensors#format

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "poslens/checkpoint.h"

namespace poslens {

struct SafetensorsContents {
  std::vector<TensorEntry> tensors;  // in the header's order; their bytes lie within the file's
  std::size_t header_bytes = 0;      // with the 8 bytes of its length
};

// A function of the bytes alone: allocates no more than a small multiple of the header, which may
// take 100 MB, and throws Error for whatever else than a whole safetensors file it is given. Bytes
// between tensors that belong to none are no fault. file_name is for messages.
SafetensorsContents parse_safetensors(std::span<const std::byte> file,
                                      const std::string& file_name);

}  // namespace poslens
