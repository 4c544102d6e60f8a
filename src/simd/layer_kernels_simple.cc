// The scalar twins of layer_kernels.cc: the definitions, as plainly as they can be written.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "simd/layer_kernels.h"

namespace poslens::simd {
namespace {

double factor_of(std::span<const float> up, std::size_t i) { return up.empty() ? 1 : up[i]; }

}  // namespace

void simple_layer_norm(std::span<const float> x, std::span<const float> weight,
                       std::span<const float> bias, float epsilon, std::span<float> out) {
  const auto n = static_cast<double>(x.size());
  double mean = 0;
  for (const float v : x) mean += v / n;
  double variance = 0;
  for (const float v : x) variance += (v - mean) * (v - mean) / n;
  const double factor = 1 / std::sqrt(variance + epsilon);
  for (std::size_t i = 0; i < x.size(); ++i) {
    out[i] = static_cast<float>(weight[i] * (x[i] - mean) * factor + bias[i]);
  }
}

void simple_gelu_multiply(std::span<const float> x, std::span<const float> up,
                          std::span<float> out) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    out[i] = static_cast<float>(v * (1 + std::erf(v / std::numbers::sqrt2)) / 2 * factor_of(up, i));
  }
}

void simple_gelu_tanh_multiply(std::span<const float> x, std::span<const float> up,
                               std::span<float> out) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    const double inner = std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v);
    out[i] = static_cast<float>(v * (1 + std::tanh(inner)) / 2 * factor_of(up, i));
  }
}

void simple_softcap(std::span<float> x, float cap) {
  for (float& v : x) v = static_cast<float>(cap * std::tanh(double{v} / cap));
}

void simple_clip(std::span<float> x, float limit) {
  for (float& v : x) v = std::clamp(v, -limit, limit);
}

}  // namespace poslens::simd
