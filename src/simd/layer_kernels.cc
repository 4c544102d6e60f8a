#include "simd/layer_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/layer_kernels.cc"
#include <hwy/foreach_target.h>  // compiles this file once per target
// clang-format off
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
#include "simd/rows-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace poslens::simd::HWY_NAMESPACE {

template <typename Out>
void layer_norm(const float* x, std::size_t n, const float* weight, const float* bias,
                float epsilon, Out* out) {
  const Tag d;
  const auto count = static_cast<float>(n);
  V sum = hn::Zero(d);
  for_each_vector(
      n, [&](std::size_t i, auto access) HWY_ATTR { sum = hn::Add(sum, access.load(x + i, 0)); });
  const float mean = hn::GetLane(hn::SumOfLanes(d, sum)) / count;
  const V centre = hn::Set(d, mean);
  V squares = hn::Zero(d);
  for_each_vector(n, [&](std::size_t i, auto access) HWY_ATTR {
    const V v = hn::Sub(access.load(x + i, mean), centre);
    squares = hn::MulAdd(v, v, squares);
  });
  const float variance = hn::GetLane(hn::SumOfLanes(d, squares)) / count;
  const V factor = hn::Div(hn::Set(d, 1), hn::Sqrt(hn::Set(d, variance + epsilon)));
  for_each_vector(n, [&](std::size_t i, auto access) HWY_ATTR {
    const V normed = hn::Mul(hn::Sub(access.load(x + i, 0), centre), factor);
    access.store(hn::MulAdd(access.load(weight + i, 0), normed, access.load(bias + i, 0)), out + i);
  });
}

// erf as x P(x^2) / Q(x^2) on [-4, 4], where it is 1 to f32's precision beyond; the polynomials are
// Eigen's (SpecialFunctions, generic_fast_erf_float).
struct Erf {
  HWY_INLINE V operator()(V x) const {
    const Tag d;
    const V limit = hn::Set(d, 4);
    const V v = hn::Max(hn::Neg(limit), hn::Min(x, limit));
    const V square = hn::Mul(v, v);
    constexpr float kP[] = {-2.72614225801306e-10f, 2.77068142495902e-08f,  -2.10102402082508e-06f,
                            -5.69250639462346e-05f, -7.34990630326855e-04f, -2.95459980854025e-03f,
                            -1.60960333262415e-02f};
    constexpr float kQ[] = {-1.45660718464996e-05f, -2.13374055278905e-04f, -1.68282697438203e-03f,
                            -7.37332916720468e-03f, -1.42647390514189e-02f};
    return hn::Div(hn::Mul(v, horner(square, kP)), horner(square, kQ));
  }

  template <std::size_t kCount>
  static HWY_INLINE V horner(V x, const float (&coefficients)[kCount]) {
    const Tag d;
    V sum = hn::Set(d, coefficients[0]);
    for (std::size_t k = 1; k < kCount; ++k) {
      sum = hn::MulAdd(sum, x, hn::Set(d, coefficients[k]));
    }
    return sum;
  }
};

struct Gelu {
  HWY_INLINE V operator()(V x) const {
    const Tag d;
    const V half = hn::Mul(x, hn::Set(d, 0.5f));
    return hn::MulAdd(half, Erf()(hn::Mul(x, hn::Set(d, 0.70710678f))), half);
  }
};

struct GeluTanh {
  HWY_INLINE V operator()(V x) const {
    const Tag d;
    const V cubic = hn::Mul(hn::Set(d, 0.044715f), hn::Mul(x, hn::Mul(x, x)));
    const V inner = hn::Mul(hn::Set(d, 0.79788456f), hn::Add(x, cubic));
    const V limit = hn::Set(d, 20);  // tanh of more is 1
    const V bounded = hn::Max(hn::Neg(limit), hn::Min(inner, limit));
    const V half = hn::Mul(x, hn::Set(d, 0.5f));
    return hn::MulAdd(half, hn::Tanh(d, bounded), half);
  }
};

template <typename Function, typename Out>
void activate(const float* x, std::size_t n, const float* up, Out* out) {
  if (up == nullptr) {
    for_each_vector(n, [&](std::size_t i, auto access)
                           HWY_ATTR { access.store(Function()(access.load(x + i, 0)), out + i); });
    return;
  }
  for_each_vector(n, [&](std::size_t i, auto access) HWY_ATTR {
    access.store(hn::Mul(Function()(access.load(x + i, 0)), access.load(up + i, 0)), out + i);
  });
}

void softcap(float* x, std::size_t n, float cap) {
  const Tag d;
  const V factor = hn::Set(d, cap);
  const V limit = hn::Set(d, 20);
  for_each_vector(n, [&](std::size_t i, auto access) HWY_ATTR {
    const V share = hn::Div(access.load(x + i, 0), factor);
    const V bounded = hn::Max(hn::Neg(limit), hn::Min(share, limit));
    access.store(hn::Mul(factor, hn::Tanh(d, bounded)), x + i);
  });
}

void clip(float* x, std::size_t n, float limit) {
  const V high = hn::Set(Tag(), limit);
  const V low = hn::Neg(high);
  for_each_vector(n, [&](std::size_t i, auto access) HWY_ATTR {
    access.store(hn::Max(low, hn::Min(access.load(x + i, 0), high)), x + i);
  });
}

// One name per instance: dispatch tables cannot hold overloads.
void layer_norm_f32(const float* x, std::size_t n, const float* weight, const float* bias,
                    float epsilon, float* out) {
  layer_norm(x, n, weight, bias, epsilon, out);
}
void layer_norm_bf16(const float* x, std::size_t n, const float* weight, const float* bias,
                     float epsilon, BFloat16* out) {
  layer_norm(x, n, weight, bias, epsilon, out);
}
void gelu_f32(const float* x, std::size_t n, const float* up, float* out) {
  activate<Gelu>(x, n, up, out);
}
void gelu_bf16(const float* x, std::size_t n, const float* up, BFloat16* out) {
  activate<Gelu>(x, n, up, out);
}
void gelu_tanh_f32(const float* x, std::size_t n, const float* up, float* out) {
  activate<GeluTanh>(x, n, up, out);
}
void gelu_tanh_bf16(const float* x, std::size_t n, const float* up, BFloat16* out) {
  activate<GeluTanh>(x, n, up, out);
}

}  // namespace poslens::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace poslens::simd {

HWY_EXPORT(layer_norm_f32);
HWY_EXPORT(layer_norm_bf16);
HWY_EXPORT(gelu_f32);
HWY_EXPORT(gelu_bf16);
HWY_EXPORT(gelu_tanh_f32);
HWY_EXPORT(gelu_tanh_bf16);
HWY_EXPORT(softcap);
HWY_EXPORT(clip);

void layer_norm(std::span<const float> x, std::span<const float> weight,
                std::span<const float> bias, float epsilon, std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(layer_norm_f32)
  (x.data(), x.size(), weight.data(), bias.data(), epsilon, out.data());
}
void layer_norm(std::span<const float> x, std::span<const float> weight,
                std::span<const float> bias, float epsilon, std::span<BFloat16> out) {
  HWY_DYNAMIC_DISPATCH(layer_norm_bf16)
  (x.data(), x.size(), weight.data(), bias.data(), epsilon, out.data());
}
void gelu_multiply(std::span<const float> x, std::span<const float> up, std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(gelu_f32)(x.data(), x.size(), up.data(), out.data());
}
void gelu_multiply(std::span<const float> x, std::span<const float> up, std::span<BFloat16> out) {
  HWY_DYNAMIC_DISPATCH(gelu_bf16)(x.data(), x.size(), up.data(), out.data());
}
void gelu_tanh_multiply(std::span<const float> x, std::span<const float> up, std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(gelu_tanh_f32)(x.data(), x.size(), up.data(), out.data());
}
void gelu_tanh_multiply(std::span<const float> x, std::span<const float> up,
                        std::span<BFloat16> out) {
  HWY_DYNAMIC_DISPATCH(gelu_tanh_bf16)(x.data(), x.size(), up.data(), out.data());
}
void softcap(std::span<float> x, float cap) {
  HWY_DYNAMIC_DISPATCH(softcap)(x.data(), x.size(), cap);
}
void clip(std::span<float> x, float limit) {
  HWY_DYNAMIC_DISPATCH(clip)(x.data(), x.size(), limit);
}

}  // namespace poslens::simd
#endif  // HWY_ONCE
