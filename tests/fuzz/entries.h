#pragma once
// One function per kind of file that nobody vouches for. Each takes any bytes as such a file, uses
// all of what the reader gives, and returns when the reader has accepted them or thrown Error.
// Anything else (another exception, a report of a sanitizer, a crash) is a fault of ours.

#include <cstddef>
#include <span>

namespace poslens::fuzz {

void safetensors(std::span<const std::byte> file);
void gguf(std::span<const std::byte> file);
// config.json: parsed, and read by the family that it names, beside a file of weights.
void config(std::span<const std::byte> file);
// tokenizer.json: parsed, and a few texts encoded and decoded.
void tokenizer(std::span<const std::byte> file);
// The tokenizer in a GGUF file's metadata, used likewise.
void gguf_tokenizer(std::span<const std::byte> file);

}  // namespace poslens::fuzz
