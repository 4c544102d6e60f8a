// exp of a vector, for kernels on Highway. Included once per target.

#if defined(POSLENS_SIMD_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef POSLENS_SIMD_EXP_INL_H_
#undef POSLENS_SIMD_EXP_INL_H_
#else
#define POSLENS_SIMD_EXP_INL_H_
#endif

#include "simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace poslens::simd::HWY_NAMESPACE {

// exp(x) = 2^k exp(r), k = x / ln 2 rounded, for x in [-87, 88]; beyond, that of the nearer end.
struct PowerOfTwo {
  V x;        // in the range
  V shifted;  // k in the low bits: 1.5 * 2^23 is added
  V k;

  HWY_INLINE explicit PowerOfTwo(V any) {
    const Tag d;
    x = hn::Min(hn::Max(any, hn::Set(d, -87.0f)), hn::Set(d, 88.0f));
    const V shift = hn::Set(d, 12582912.0f);
    shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), shift);
    k = hn::Sub(shifted, shift);
  }
  // 2^k p
  HWY_INLINE V times(V p) const {
    const Tag d;
    const hn::RebindToSigned<Tag> di;
    const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
    return hn::BitCast(d, hn::Add(hn::BitCast(di, p), exponent));
  }
};

// exp(x) with a relative error below 1e-7. Half the operations of Highway's, which goes on to the
// subnormals: ln 2 in two parts (Cody and Waite, "Software Manual for the Elementary Functions",
// 1980), and exp(r) = 1 + r + r^2 q(r) with the q of degree 4 whose largest relative error is
// least.
HWY_INLINE V bounded_exp(V x) {
  const Tag d;
  const PowerOfTwo power(x);
  V r = hn::NegMulAdd(power.k, hn::Set(d, 0.693145751953125f), power.x);
  r = hn::NegMulAdd(power.k, hn::Set(d, 1.428606765330187e-6f), r);
  V p = hn::Set(d, 0.0013814467f);
  p = hn::MulAdd(p, r, hn::Set(d, 0.0083687808f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.0416683927f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.1666651964f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.4999999404f));
  p = hn::MulAdd(p, r, hn::Set(d, 1));
  p = hn::MulAdd(p, r, hn::Set(d, 1));
  return power.times(p);
}

// The same with a relative error below 8e-5, for results that are rounded to bf16: exp(r) by the
// cubic whose largest relative error is least.
HWY_INLINE V rough_exp(V x) {
  const Tag d;
  const PowerOfTwo power(x);
  const V r = hn::NegMulAdd(power.k, hn::Set(d, 0.693147182f), power.x);
  V p = hn::Set(d, 0.165668428f);
  p = hn::MulAdd(p, r, hn::Set(d, 0.504963279f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.00016415f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.999928057f));
  return power.times(p);
}

// exp as exact as the type it is rounded to deserves.
template <typename Out>
HWY_INLINE V exp_for(V x) {
  if constexpr (sizeof(Out) == sizeof(float)) {
    return bounded_exp(x);
  } else {
    return rough_exp(x);
  }
}

// 1 / x to the last place or two: an estimate of 8 bits or more, and Newton's steps. 0 where it
// would be subnormal.
HWY_INLINE V reciprocal(V x) {
  const V two = hn::Set(Tag(), 2);
  V y = hn::ApproximateReciprocal(x);
  y = hn::Mul(y, hn::NegMulAdd(x, y, two));
  return hn::Mul(y, hn::NegMulAdd(x, y, two));
}

}  // namespace poslens::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // POSLENS_SIMD_EXP_INL_H_
