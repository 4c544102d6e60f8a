#pragma once
// Row kernels that some model families need beyond those of model_kernels.h, on the same terms.

#include <span>

#include "simd/model_kernels.h"

namespace poslens::simd {

// out = weight (x - mean x) / sqrt(var x + epsilon) + bias: LayerNorm (Ba et al., arXiv
// 1607.06450), the variance divided by n. x and out may be the same.
void layer_norm(std::span<const float> x, std::span<const float> weight,
                std::span<const float> bias, float epsilon, std::span<float> out);
void layer_norm(std::span<const float> x, std::span<const float> weight,
                std::span<const float> bias, float epsilon, std::span<BFloat16> out);

// out = activation(x) * up; an empty up is one throughout. x and out may be the same.
// gelu(x) = x (1 + erf(x / sqrt 2)) / 2, erf with an error below 5e-7.
void gelu_multiply(std::span<const float> x, std::span<const float> up, std::span<float> out);
void gelu_multiply(std::span<const float> x, std::span<const float> up, std::span<BFloat16> out);
// gelu_tanh(x) = x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
void gelu_tanh_multiply(std::span<const float> x, std::span<const float> up, std::span<float> out);
void gelu_tanh_multiply(std::span<const float> x, std::span<const float> up,
                        std::span<BFloat16> out);

// x = cap tanh(x / cap)
void softcap(std::span<float> x, float cap);

// x = min(max(x, -limit), limit)
void clip(std::span<float> x, float limit);

// The scalar twins.
void simple_layer_norm(std::span<const float> x, std::span<const float> weight,
                       std::span<const float> bias, float epsilon, std::span<float> out);
void simple_gelu_multiply(std::span<const float> x, std::span<const float> up,
                          std::span<float> out);
void simple_gelu_tanh_multiply(std::span<const float> x, std::span<const float> up,
                               std::span<float> out);
void simple_softcap(std::span<float> x, float cap);
void simple_clip(std::span<float> x, float limit);

}  // namespace poslens::simd
