#pragma once
// ggml's quantised types to f32. A row is a string of blocks; each function expands `elements` (a
// multiple of the block's) from `from` on. Layouts as in ggml/src/ggml-common.h.
//
// Scales are halves (11 bits) times integers of up to 7 bits, quants have up to 8: every product
// below is exact in f32, so that there is one rounding at most, where a minimum is added, and a
// fused multiply-add changes nothing. The values are those of ggml's reference code, bit for bit.

#include <cstddef>
#include <cstdint>

namespace poslens {

// 32 elements.
void expand_q4_0(const std::byte* from, std::int64_t elements, float* out);
void expand_q4_1(const std::byte* from, std::int64_t elements, float* out);
void expand_q5_0(const std::byte* from, std::int64_t elements, float* out);
void expand_q5_1(const std::byte* from, std::int64_t elements, float* out);
void expand_q8_0(const std::byte* from, std::int64_t elements, float* out);
void expand_iq4_nl(const std::byte* from, std::int64_t elements, float* out);

// 256 elements, in sub-blocks that have scales of their own.
void expand_q2_k(const std::byte* from, std::int64_t elements, float* out);
void expand_q3_k(const std::byte* from, std::int64_t elements, float* out);
void expand_q4_k(const std::byte* from, std::int64_t elements, float* out);
void expand_q5_k(const std::byte* from, std::int64_t elements, float* out);
void expand_q6_k(const std::byte* from, std::int64_t elements, float* out);
void expand_iq4_xs(const std::byte* from, std::int64_t elements, float* out);

}  // namespace poslens
