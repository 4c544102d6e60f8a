#pragma once
// Walks over the blocks of a quantised row.

#include <cstddef>
#include <cstdint>

namespace poslens {

// expand(block, out) for every block of block_elements elements in block_bytes bytes.
template <int block_elements, int block_bytes, typename Expand>
void for_blocks(const std::byte* from, std::int64_t elements, float* out, Expand expand) {
  for (std::int64_t i = 0; i < elements; i += block_elements, from += block_bytes) {
    expand(from, out + i);
  }
}

}  // namespace poslens
