#pragma once
// Row kernels of the model route, on Highway with dynamic dispatch. Each has a readable scalar twin
// (Simple...) that tests compare it with; sums may differ from the twin's by rounding only.
// Spans of one call have equal lengths; any length goes. Inputs are finite unless stated.

#include <cstdint>
#include <span>

namespace poslens::simd {

// The upper half of an f32. Conversion rounds to nearest, ties to even; NaN stays NaN.
struct BFloat16 {
  std::uint16_t bits;
};

// out = x * scale, rounded to the type of out. x and out may be the same.
void convert(std::span<const float> x, float scale, std::span<float> out);
void convert(std::span<const float> x, float scale, std::span<BFloat16> out);

// first + second + third = x exactly, each the leading eight bits of what the ones before it leave
// (except below 2^-110, where a part may be subnormal). An infinite x is its first part.
void split(std::span<const float> x, std::span<BFloat16> first, std::span<BFloat16> second,
           std::span<BFloat16> third);

// y += scale * x
void add_scaled(std::span<const float> x, float scale, std::span<float> y);

// out = weight * x / sqrt(mean x^2 + epsilon): RMSNorm (Zhang, Sennrich: arXiv 1910.07467).
// x and out may be the same.
void rms_norm(std::span<const float> x, std::span<const float> weight, float epsilon,
              std::span<float> out);
void rms_norm(std::span<const float> x, std::span<const float> weight, float epsilon,
              std::span<BFloat16> out);

// out = silu(gate) * up, silu(x) = x / (1 + exp(-x)); an empty up is one throughout. gate and out
// may be the same.
void silu_multiply(std::span<const float> gate, std::span<const float> up, std::span<float> out);
void silu_multiply(std::span<const float> gate, std::span<const float> up, std::span<BFloat16> out);

// Turns the first 2 * cosine.size() coordinates of a head and multiplies all by scale. The pairs
// (a, b) of x are (k, k + pairs), or (2k, 2k + 1) when interleaved; out has a cos - b sin at k and
// a sin + b cos at k + pairs in both cases: inner products do not depend on the order, and queries
// and keys get the same one. x and out must not overlap.
void rotate(std::span<const float> x, std::span<const float> cosine, std::span<const float> sine,
            bool interleaved, float scale, std::span<float> out);
void rotate(std::span<const float> x, std::span<const float> cosine, std::span<const float> sine,
            bool interleaved, float scale, std::span<BFloat16> out);

// The largest element; -infinity when there is none.
float maximum(std::span<const float> x);
// sum += x; returns the largest x.
float add_and_maximum(std::span<const float> x, std::span<float> sum);

// out = exp(x - shift); returns the sum of the results, unrounded. x - shift <= 0 is expected;
// relative error of an element below 4e-7 (and below 8e-5 before it is rounded to bf16), results
// below 2e-38 become 2e-38 (and so may up to a vector's lanes that the sum counts besides). x and
// out may be the same.
float exp_and_sum(std::span<const float> x, float shift, std::span<float> out);
float exp_and_sum(std::span<const float> x, float shift, std::span<BFloat16> out);
// The same sum without storing the elements.
float sum_exp(std::span<const float> x, float shift);

// One step of Welford's running mean and sum of squared deviations ("Note on a method for
// calculating corrected sums of squares and products", Technometrics 1962) for each element of
// scale * x; count is the number of values including this one.
void welford(std::span<const float> x, float scale, std::int64_t count, std::span<float> mean,
             std::span<float> squares);

// The scalar twins.
float to_float(BFloat16 value);
BFloat16 simple_to_bfloat16(float value);
void simple_convert(std::span<const float> x, float scale, std::span<float> out);
void simple_split(std::span<const float> x, std::span<BFloat16> first, std::span<BFloat16> second,
                  std::span<BFloat16> third);
void simple_add_scaled(std::span<const float> x, float scale, std::span<float> y);
void simple_rms_norm(std::span<const float> x, std::span<const float> weight, float epsilon,
                     std::span<float> out);
void simple_silu_multiply(std::span<const float> gate, std::span<const float> up,
                          std::span<float> out);
void simple_rotate(std::span<const float> x, std::span<const float> cosine,
                   std::span<const float> sine, bool interleaved, float scale,
                   std::span<float> out);
float simple_maximum(std::span<const float> x);
float simple_add_and_maximum(std::span<const float> x, std::span<float> sum);
float simple_exp_and_sum(std::span<const float> x, float shift, std::span<float> out);
float simple_sum_exp(std::span<const float> x, float shift);
void simple_welford(std::span<const float> x, float scale, std::int64_t count,
                    std::span<float> mean, std::span<float> squares);

}  // namespace poslens::simd
