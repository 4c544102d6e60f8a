// What libFuzzer calls; POSLENS_FUZZ_ENTRY is a function of entries.h.

#include <cstdint>

#include "fuzz/entries.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  poslens::fuzz::POSLENS_FUZZ_ENTRY(std::as_bytes(std::span(data, size)));
  return 0;
}
