#pragma once
// The kinds of model files there are, behind one interface.

#include <filesystem>
#include <memory>

#include "checkpoint/mapped_file.h"
#include "poslens/checkpoint.h"
#include "poslens/hash.h"

namespace poslens {

// A weight file's part of Checkpoint::fingerprint().
void add_weights(Hash& hash, std::span<const std::byte> file, std::size_t header_bytes,
                 std::span<const TensorEntry> tensors);

std::unique_ptr<Checkpoint> open_gguf(const std::filesystem::path& path,
                                      std::shared_ptr<const MappedFile> file);

// A folder with config.json and weights.
std::unique_ptr<Checkpoint> open_folder(const std::filesystem::path& folder);

// One file with config.json beside it. A shard that the index beside it names stands for the whole.
std::unique_ptr<Checkpoint> open_safetensors(const std::filesystem::path& file);

}  // namespace poslens
