#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "checkpoint/gguf.h"
#include "checkpoint/safetensors.h"
#include "fuzz/entries.h"
#include "poslens/error.h"

namespace poslens::fuzz {
namespace {

void demand(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

// Sees that a tensor is what its type and shape say, within the file, and expands its ends.
void use(const TensorEntry& tensor, std::span<const std::byte> file) {
  const TensorLayout layout = layout_of(tensor.type);
  demand(std::ssize(tensor.bytes) == tensor.elements() / layout.block_elements * layout.block_bytes,
         "size");
  demand(tensor.bytes.empty() ||
             (tensor.bytes.data() >= file.data() &&
              tensor.bytes.data() + tensor.bytes.size() <= file.data() + file.size()),
         "within the file");
  const std::int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  const std::int64_t rows = row == 0 ? 0 : tensor.elements() / row;
  if (!is_expandable(tensor.type) || rows == 0) return;
  std::vector<float> out(static_cast<std::size_t>(row));
  expand_rows(tensor, 0, 1, out);
  expand_rows(tensor, rows - 1, 1, out);
}

void use_all(const std::vector<TensorEntry>& tensors, std::span<const std::byte> file) {
  std::size_t total = 0;
  for (const TensorEntry& tensor : tensors) {
    use(tensor, file);
    total += tensor.bytes.size();
  }
  demand(total <= file.size(), "apart");
}

}  // namespace

namespace {

void parse_and_use_safetensors(std::span<const std::byte> file) {
  try {
    const SafetensorsContents contents = parse_safetensors(file, "file");
    demand(contents.header_bytes <= file.size(), "header within the file");
    use_all(contents.tensors, file);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the answer to a bad file
  }
}

}  // namespace

void safetensors(std::span<const std::byte> file) {
  parse_and_use_safetensors(file);
  // Once more with the header's length put right, up to the last brace, so that what changes the
  // header gets past it.
  const auto brace = std::find(file.rbegin(), file.rend(), std::byte{'}'});
  const std::uint64_t end = static_cast<std::uint64_t>(file.rend() - brace);
  if (end < sizeof end) return;
  std::vector<std::byte> repaired(file.begin(), file.end());
  const std::uint64_t length = end - sizeof end;
  std::memcpy(repaired.data(), &length, sizeof length);
  parse_and_use_safetensors(repaired);
}

void gguf(std::span<const std::byte> file) {
  try {
    const GgufContents contents = parse_gguf(file, "file");
    demand(contents.header_bytes <= file.size(), "header within the file");
    use_all(contents.tensors, file);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the answer to a bad file
  }
}

}  // namespace poslens::fuzz
