// 2^x for softmax numerators.

#if defined(POSLENS_SIMULATION_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef POSLENS_SIMULATION_LANES_INL_H_
#undef POSLENS_SIMULATION_LANES_INL_H_
#else
#define POSLENS_SIMULATION_LANES_INL_H_
#endif

#include "simd/normal-inl.h"

HWY_BEFORE_NAMESPACE();
namespace poslens::HWY_NAMESPACE {

// 2^x for -126 <= x <= 126, relative error below 3e-7; 2^-126 for anything smaller.
HWY_INLINE FloatLanes FastExp2(FloatLanes x) {
  const FloatTag d;
  const IntTag di;
  x = hn::Max(x, hn::Set(d, -126.0f));
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

}  // namespace poslens::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // POSLENS_SIMULATION_LANES_INL_H_
