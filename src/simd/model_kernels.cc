#include "simd/model_kernels.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/model_kernels.cc"
#include <hwy/foreach_target.h>  // compiles this file once per target
// clang-format off
#include <hwy/highway.h>
#include "simd/exp-inl.h"
#include "simd/rows-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace poslens::simd::HWY_NAMESPACE {

template <typename Out>
void convert(const float* x, std::size_t n, float scale, Out* out) {
  const V factor = hn::Set(Tag(), scale);
  for_each_vector(n, [&](std::size_t i, auto access) HWY_ATTR {
    access.store(hn::Mul(access.load(x + i, 0), factor), out + i);
  });
}

void split(const float* x, std::size_t n, BFloat16* first, BFloat16* second, BFloat16* third) {
  const hn::RebindToUnsigned<Tag> du;
  const auto upper = hn::Set(du, 0xffff0000u);
  for_each_vector(n, [&](std::size_t i, auto access) HWY_ATTR {
    V rest = access.load(x + i, 0);
    for (BFloat16* part : {first, second, third}) {
      const V kept = hn::BitCast(Tag(), hn::And(hn::BitCast(du, rest), upper));
      access.store(cut_to_bfloat16(rest), part + i);
      rest = hn::IfThenZeroElse(hn::IsInf(rest), hn::Sub(rest, kept));
    }
  });
}

void add_scaled(const float* x, std::size_t n, float scale, float* y) {
  const V factor = hn::Set(Tag(), scale);
  for_each_vector(n, [&](std::size_t i, auto access) HWY_ATTR {
    access.store(hn::MulAdd(access.load(x + i, 0), factor, access.load(y + i, 0)), y + i);
  });
}

template <typename Out>
void rms_norm(const float* x, std::size_t n, const float* weight, float epsilon, Out* out) {
  const Tag d;
  V sum = hn::Zero(d);
  for_each_vector(n, [&](std::size_t i, auto access) HWY_ATTR {
    const V v = access.load(x + i, 0);
    sum = hn::MulAdd(v, v, sum);
  });
  const float mean = hn::GetLane(hn::SumOfLanes(d, sum)) / static_cast<float>(n);
  const V factor = hn::Div(hn::Set(d, 1), hn::Sqrt(hn::Set(d, mean + epsilon)));
  for_each_vector(n, [&](std::size_t i, auto access) HWY_ATTR {
    const V normed = hn::Mul(access.load(x + i, 0), factor);
    access.store(hn::Mul(access.load(weight + i, 0), normed), out + i);
  });
}

template <typename Out>
void silu_multiply(const float* gate, std::size_t n, const float* up, Out* out) {
  const Tag d;
  const V one = hn::Set(d, 1);
  for_each_vector(n, [&](std::size_t i, auto access) HWY_ATTR {
    const V x = access.load(gate + i, 0);
    const V silu = hn::Mul(x, reciprocal(hn::Add(one, exp_for<Out>(hn::Neg(x)))));
    access.store(up == nullptr ? silu : hn::Mul(silu, access.load(up + i, 0)), out + i);
  });
}

template <typename Out>
void rotate(const float* x, std::size_t n, const float* cosine, const float* sine,
            std::size_t pairs, bool interleaved, float scale, Out* out) {
  const Tag d;
  const V factor = hn::Set(d, scale);
  const auto turn = [&](V a, V b, std::size_t k, auto access) HWY_ATTR {
    const V c = hn::Mul(access.load(cosine + k, 0), factor);
    const V s = hn::Mul(access.load(sine + k, 0), factor);
    access.store(hn::NegMulAdd(b, s, hn::Mul(a, c)), out + k);
    access.store(hn::MulAdd(a, s, hn::Mul(b, c)), out + pairs + k);
  };
  if (interleaved) {
    const std::size_t lanes = hn::Lanes(d);
    std::size_t k = 0;
    V a;
    V b;
    for (; k + lanes <= pairs; k += lanes) {
      hn::LoadInterleaved2(d, x + 2 * k, a, b);
      turn(a, b, k, Whole{});
    }
    if (k < pairs) {
      HWY_ALIGN float rest[2 * hn::MaxLanes(d)] = {};
      std::memcpy(rest, x + 2 * k, 2 * (pairs - k) * sizeof(float));
      hn::LoadInterleaved2(d, rest, a, b);
      turn(a, b, k, Part{pairs - k});
    }
  } else {
    for_each_vector(pairs, [&](std::size_t k, auto access) HWY_ATTR {
      turn(access.load(x + k, 0), access.load(x + pairs + k, 0), k, access);
    });
  }
  convert(x + 2 * pairs, n - 2 * pairs, scale, out + 2 * pairs);
}

constexpr float kLowest = -std::numeric_limits<float>::infinity();

float maximum(const float* x, std::size_t n) {
  const Tag d;
  V largest = hn::Set(d, kLowest);
  for_each_vector(n, [&](std::size_t i, auto access)
                         HWY_ATTR { largest = hn::Max(largest, access.load(x + i, kLowest)); });
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

float add_and_maximum(const float* x, std::size_t n, float* sum) {
  const Tag d;
  V largest = hn::Set(d, kLowest);
  for_each_vector(n, [&](std::size_t i, auto access) HWY_ATTR {
    const V v = access.load(x + i, kLowest);
    largest = hn::Max(largest, v);
    access.store(hn::Add(v, access.load(sum + i, 0)), sum + i);
  });
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

template <typename Out>
float exp_and_sum(const float* x, std::size_t n, float shift, Out* out) {
  const Tag d;
  const V offset = hn::Set(d, shift);
  V sum = hn::Zero(d);
  for_each_vector(n, [&](std::size_t i, auto access) HWY_ATTR {
    const V power = exp_for<Out>(hn::Sub(access.load(x + i, kLowest), offset));
    access.store(power, out + i);
    sum = hn::Add(sum, power);
  });
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

float sum_exp(const float* x, std::size_t n, float shift) {
  const Tag d;
  const V offset = hn::Set(d, shift);
  V sum = hn::Zero(d);
  for_each_vector(n, [&](std::size_t i, auto access) HWY_ATTR {
    sum = hn::Add(sum, bounded_exp(hn::Sub(access.load(x + i, kLowest), offset)));
  });
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

void welford(const float* x, std::size_t n, float scale, float inverse_count, float* mean,
             float* squares) {
  const Tag d;
  const V factor = hn::Set(d, scale);
  const V inverse = hn::Set(d, inverse_count);
  for_each_vector(n, [&](std::size_t i, auto access) HWY_ATTR {
    const V value = hn::Mul(access.load(x + i, 0), factor);
    const V old_mean = access.load(mean + i, 0);
    const V deviation = hn::Sub(value, old_mean);
    const V new_mean = hn::MulAdd(deviation, inverse, old_mean);
    access.store(new_mean, mean + i);
    access.store(hn::MulAdd(deviation, hn::Sub(value, new_mean), access.load(squares + i, 0)),
                 squares + i);
  });
}

// One name per instance: dispatch tables cannot hold overloads.
void convert_f32(const float* x, std::size_t n, float scale, float* out) {
  convert(x, n, scale, out);
}
void convert_bf16(const float* x, std::size_t n, float scale, BFloat16* out) {
  convert(x, n, scale, out);
}
void rms_norm_f32(const float* x, std::size_t n, const float* weight, float epsilon, float* out) {
  rms_norm(x, n, weight, epsilon, out);
}
void rms_norm_bf16(const float* x, std::size_t n, const float* weight, float epsilon,
                   BFloat16* out) {
  rms_norm(x, n, weight, epsilon, out);
}
void silu_multiply_f32(const float* gate, std::size_t n, const float* up, float* out) {
  silu_multiply(gate, n, up, out);
}
void silu_multiply_bf16(const float* gate, std::size_t n, const float* up, BFloat16* out) {
  silu_multiply(gate, n, up, out);
}
float exp_and_sum_f32(const float* x, std::size_t n, float shift, float* out) {
  return exp_and_sum(x, n, shift, out);
}
float exp_and_sum_bf16(const float* x, std::size_t n, float shift, BFloat16* out) {
  return exp_and_sum(x, n, shift, out);
}
void rotate_f32(const float* x, std::size_t n, const float* cosine, const float* sine,
                std::size_t pairs, bool interleaved, float scale, float* out) {
  rotate(x, n, cosine, sine, pairs, interleaved, scale, out);
}
void rotate_bf16(const float* x, std::size_t n, const float* cosine, const float* sine,
                 std::size_t pairs, bool interleaved, float scale, BFloat16* out) {
  rotate(x, n, cosine, sine, pairs, interleaved, scale, out);
}

}  // namespace poslens::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace poslens::simd {

HWY_EXPORT(convert_f32);
HWY_EXPORT(convert_bf16);
HWY_EXPORT(split);
HWY_EXPORT(add_scaled);
HWY_EXPORT(rms_norm_f32);
HWY_EXPORT(rms_norm_bf16);
HWY_EXPORT(silu_multiply_f32);
HWY_EXPORT(silu_multiply_bf16);
HWY_EXPORT(rotate_f32);
HWY_EXPORT(rotate_bf16);
HWY_EXPORT(maximum);
HWY_EXPORT(add_and_maximum);
HWY_EXPORT(exp_and_sum_f32);
HWY_EXPORT(exp_and_sum_bf16);
HWY_EXPORT(sum_exp);
HWY_EXPORT(welford);

void convert(std::span<const float> x, float scale, std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(convert_f32)(x.data(), x.size(), scale, out.data());
}
void convert(std::span<const float> x, float scale, std::span<BFloat16> out) {
  HWY_DYNAMIC_DISPATCH(convert_bf16)(x.data(), x.size(), scale, out.data());
}
void split(std::span<const float> x, std::span<BFloat16> first, std::span<BFloat16> second,
           std::span<BFloat16> third) {
  HWY_DYNAMIC_DISPATCH(split)(x.data(), x.size(), first.data(), second.data(), third.data());
}
void add_scaled(std::span<const float> x, float scale, std::span<float> y) {
  HWY_DYNAMIC_DISPATCH(add_scaled)(x.data(), x.size(), scale, y.data());
}
void rms_norm(std::span<const float> x, std::span<const float> weight, float epsilon,
              std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(rms_norm_f32)(x.data(), x.size(), weight.data(), epsilon, out.data());
}
void rms_norm(std::span<const float> x, std::span<const float> weight, float epsilon,
              std::span<BFloat16> out) {
  HWY_DYNAMIC_DISPATCH(rms_norm_bf16)(x.data(), x.size(), weight.data(), epsilon, out.data());
}
void silu_multiply(std::span<const float> gate, std::span<const float> up, std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(silu_multiply_f32)(gate.data(), gate.size(), up.data(), out.data());
}
void silu_multiply(std::span<const float> gate, std::span<const float> up,
                   std::span<BFloat16> out) {
  HWY_DYNAMIC_DISPATCH(silu_multiply_bf16)(gate.data(), gate.size(), up.data(), out.data());
}
void rotate(std::span<const float> x, std::span<const float> cosine, std::span<const float> sine,
            bool interleaved, float scale, std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(rotate_f32)
  (x.data(), x.size(), cosine.data(), sine.data(), cosine.size(), interleaved, scale, out.data());
}
void rotate(std::span<const float> x, std::span<const float> cosine, std::span<const float> sine,
            bool interleaved, float scale, std::span<BFloat16> out) {
  HWY_DYNAMIC_DISPATCH(rotate_bf16)
  (x.data(), x.size(), cosine.data(), sine.data(), cosine.size(), interleaved, scale, out.data());
}
float maximum(std::span<const float> x) {
  return HWY_DYNAMIC_DISPATCH(maximum)(x.data(), x.size());
}
float add_and_maximum(std::span<const float> x, std::span<float> sum) {
  return HWY_DYNAMIC_DISPATCH(add_and_maximum)(x.data(), x.size(), sum.data());
}
float exp_and_sum(std::span<const float> x, float shift, std::span<float> out) {
  return HWY_DYNAMIC_DISPATCH(exp_and_sum_f32)(x.data(), x.size(), shift, out.data());
}
float exp_and_sum(std::span<const float> x, float shift, std::span<BFloat16> out) {
  return HWY_DYNAMIC_DISPATCH(exp_and_sum_bf16)(x.data(), x.size(), shift, out.data());
}
float sum_exp(std::span<const float> x, float shift) {
  return HWY_DYNAMIC_DISPATCH(sum_exp)(x.data(), x.size(), shift);
}
void welford(std::span<const float> x, float scale, std::int64_t count, std::span<float> mean,
             std::span<float> squares) {
  HWY_DYNAMIC_DISPATCH(welford)
  (x.data(), x.size(), scale, 1 / static_cast<float>(count), mean.data(), squares.data());
}

}  // namespace poslens::simd
#endif  // HWY_ONCE
