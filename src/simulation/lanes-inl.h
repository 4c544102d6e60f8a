// Exponentials for softmax numerators, and loops over registers.

#if defined(POSLENS_SIMULATION_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef POSLENS_SIMULATION_LANES_INL_H_
#undef POSLENS_SIMULATION_LANES_INL_H_
#else
#define POSLENS_SIMULATION_LANES_INL_H_
#endif

#include <type_traits>
#include <utility>

#include "simd/normal-inl.h"

HWY_BEFORE_NAMESPACE();
namespace poslens::HWY_NAMESPACE {

// For lambdas in kernels, which compilers do not inline by themselves when they are large.
#undef POSLENS_INLINE_LAMBDA
#define POSLENS_INLINE_LAMBDA HWY_ATTR __attribute__((always_inline))

// body(index), index = 0 .. kCount - 1 as compile-time constants: what keeps an array of vectors in
// registers.
template <std::size_t kCount, typename Body>
HWY_INLINE void Unroll(const Body& body) {
  [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) POSLENS_INLINE_LAMBDA {
    (body(std::integral_constant<std::size_t, kIndex>()), ...);
  }
  (std::make_index_sequence<kCount>());
}

template <std::size_t kColumns, std::size_t kRows>
HWY_INLINE void Clear(FloatLanes (&sums)[kColumns][kRows]) {
  Unroll<kColumns>([&](auto t) POSLENS_INLINE_LAMBDA {
    Unroll<kRows>([&](auto r) POSLENS_INLINE_LAMBDA { sums[t][r] = hn::Zero(FloatTag()); });
  });
}

// 2^x for -126 <= x <= 126, relative error below 3e-7.
HWY_INLINE FloatLanes FastExp2(FloatLanes x) {
  const FloatTag d;
  const IntTag di;
  // Adding 1.5 * 2^23 rounds to a whole number and leaves it in the lowest bits.
  const FloatLanes magic = hn::Set(d, 12582912.0f);
  const FloatLanes shifted = hn::Add(x, magic);
  const FloatLanes f = hn::Sub(x, hn::Sub(shifted, magic));
  // Least maximal relative error on [-1/2, 1/2].
  FloatLanes p = hn::Set(d, 1.3276472454890609e-3f);
  p = hn::MulAdd(p, f, hn::Set(d, 9.675540961325169e-3f));
  p = hn::MulAdd(p, f, hn::Set(d, 5.550713092088699e-2f));
  p = hn::MulAdd(p, f, hn::Set(d, 0.24022120237350464f));
  p = hn::MulAdd(p, f, hn::Set(d, 0.6931469440460205f));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0000001192092896f));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
}

// e^x for -1 <= x <= 1, relative error below 4e-7.
HWY_INLINE FloatLanes FastExpOfUnit(FloatLanes x) {
  const FloatTag d;
  // e^(x/2), least maximal relative error; then squared.
  FloatLanes p = hn::Set(d, 2.15324526e-05f);
  p = hn::MulAdd(p, x, hn::Set(d, 0.000263099151f));
  p = hn::MulAdd(p, x, hn::Set(d, 0.00260458677f));
  p = hn::MulAdd(p, x, hn::Set(d, 0.0208320208f));
  p = hn::MulAdd(p, x, hn::Set(d, 0.124999821f));
  p = hn::MulAdd(p, x, hn::Set(d, 0.500000179f));
  p = hn::MulAdd(p, x, hn::Set(d, 1.0f));
  return hn::Mul(p, p);
}

}  // namespace poslens::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // POSLENS_SIMULATION_LANES_INL_H_
