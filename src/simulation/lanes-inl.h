// exp for softmax numerators.

#if defined(POSLENS_SIMULATION_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef POSLENS_SIMULATION_LANES_INL_H_
#undef POSLENS_SIMULATION_LANES_INL_H_
#else
#define POSLENS_SIMULATION_LANES_INL_H_
#endif

#include "simd/normal-inl.h"

HWY_BEFORE_NAMESPACE();
namespace poslens::HWY_NAMESPACE {

// exp(x) for x <= 80, relative error below 3e-7; exp(-87) for anything smaller. Polynomial of
// S. Moshier's Cephes (expf).
HWY_INLINE FloatLanes FastExp(FloatLanes x) {
  const FloatTag d;
  const IntTag di;
  x = hn::Max(x, hn::Set(d, -87.0f));
  const auto power = hn::NearestInt(hn::Mul(x, hn::Set(d, 1.44269504f)));
  const FloatLanes whole = hn::ConvertTo(d, power);
  FloatLanes r = hn::NegMulAdd(whole, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(whole, hn::Set(d, -2.12194440e-4f), r);
  FloatLanes p = hn::Set(d, 1.9875691500e-4f);
  p = hn::MulAdd(p, r, hn::Set(d, 1.3981999507e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.0000001201e-1f));
  p = hn::MulAdd(p, hn::Mul(r, r), hn::Add(r, hn::Set(d, 1.0f)));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(power)));
}

}  // namespace poslens::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // POSLENS_SIMULATION_LANES_INL_H_
