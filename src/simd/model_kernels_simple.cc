// The scalar twins of model_kernels.cc: the definitions, as plainly as they can be written.

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "simd/model_kernels.h"

namespace poslens::simd {

float to_float(BFloat16 value) { return std::bit_cast<float>(std::uint32_t{value.bits} << 16); }

BFloat16 simple_to_bfloat16(float value) {
  if (std::isnan(value)) return {0x7fc0};
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t kept = bits >> 16;
  const std::uint32_t rest = bits & 0xffff;
  const bool up = rest > 0x8000 || (rest == 0x8000 && kept % 2 == 1);
  return {static_cast<std::uint16_t>(kept + (up ? 1 : 0))};
}

void simple_convert(std::span<const float> x, float scale, std::span<float> out) {
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = x[i] * scale;
}

void simple_split(std::span<const float> x, std::span<BFloat16> first, std::span<BFloat16> second,
                  std::span<BFloat16> third) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    float rest = x[i];
    for (const std::span<BFloat16> part : {first, second, third}) {
      part[i] = {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rest) >> 16)};
      rest = std::isinf(rest) ? 0 : rest - to_float(part[i]);
    }
  }
}

void simple_add_scaled(std::span<const float> x, float scale, std::span<float> y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] += scale * x[i];
}

void simple_rms_norm(std::span<const float> x, std::span<const float> weight, float epsilon,
                     std::span<float> out) {
  double sum = 0;
  for (const float v : x) sum += double{v} * v;
  const double factor = 1 / std::sqrt(sum / static_cast<double>(x.size()) + epsilon);
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = static_cast<float>(weight[i] * x[i] * factor);
}

void simple_silu_multiply(std::span<const float> gate, std::span<const float> up,
                          std::span<float> out) {
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double factor = up.empty() ? 1 : up[i];
    out[i] = static_cast<float>(gate[i] / (1 + std::exp(-double{gate[i]})) * factor);
  }
}

void simple_rotate(std::span<const float> x, std::span<const float> cosine,
                   std::span<const float> sine, bool interleaved, float scale,
                   std::span<float> out) {
  const std::size_t pairs = cosine.size();
  for (std::size_t k = 0; k < pairs; ++k) {
    const float a = interleaved ? x[2 * k] : x[k];
    const float b = interleaved ? x[2 * k + 1] : x[k + pairs];
    out[k] = scale * (a * cosine[k] - b * sine[k]);
    out[k + pairs] = scale * (a * sine[k] + b * cosine[k]);
  }
  for (std::size_t i = 2 * pairs; i < x.size(); ++i) out[i] = scale * x[i];
}

float simple_maximum(std::span<const float> x) {
  float largest = -std::numeric_limits<float>::infinity();
  for (const float v : x) largest = std::max(largest, v);
  return largest;
}

float simple_add_and_maximum(std::span<const float> x, std::span<float> sum) {
  for (std::size_t i = 0; i < x.size(); ++i) sum[i] += x[i];
  return simple_maximum(x);
}

float simple_exp_and_sum(std::span<const float> x, float shift, std::span<float> out) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    out[i] = static_cast<float>(std::exp(double{x[i] - shift}));
    sum += out[i];
  }
  return static_cast<float>(sum);
}

float simple_sum_exp(std::span<const float> x, float shift) {
  double sum = 0;
  for (const float v : x) sum += std::exp(double{v - shift});
  return static_cast<float>(sum);
}

void simple_welford(std::span<const float> x, float scale, std::int64_t count,
                    std::span<float> mean, std::span<float> squares) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float value = scale * x[i];
    const float deviation = value - mean[i];
    mean[i] += deviation / static_cast<float>(count);
    squares[i] += deviation * (value - mean[i]);
  }
}

}  // namespace poslens::simd
