// Chi variables (norms of standard normal vectors), one sample per lane, by the exact rejection
// method of Marsaglia and Tsang, "A simple method for generating gamma variables" (ACM TOMS 2000).
// With a = dof / 2, g = a - 1/3, t = z / (3 sqrt(g)) for a standard normal z, the candidate
// sqrt(2 g (1 + t)^3) is accepted when log u < h, u uniform and
//   h = z^2 / 2 + g (1 - v + log v),  v = (1 + t)^3
//     = -3 g t^4 (1/4 - t/5 + t^2/6 - ...),
// the series where g is large and the first form would lose its digits.

#if defined(POSLENS_SIMD_CHI_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef POSLENS_SIMD_CHI_INL_H_
#undef POSLENS_SIMD_CHI_INL_H_
#else
#define POSLENS_SIMD_CHI_INL_H_
#endif

#include <cmath>

#include "simd/normal-inl.h"

HWY_BEFORE_NAMESPACE();
namespace poslens::HWY_NAMESPACE {

using FloatMask = hn::Mask<FloatTag>;

class ChiDistribution {
 public:
  explicit ChiDistribution(int dof)
      : dof_(dof),
        g_(dof * 0.5f - 1.0f / 3.0f),
        step_(1.0f / (3.0f * std::sqrt(g_ > 0 ? g_ : 1.0f))) {}

  // A candidate from a standard normal and a uniform word; returns where it is accepted.
  HWY_INLINE FloatMask Candidate(FloatLanes z, UintLanes word, FloatLanes& value) const {
    const FloatTag d;
    if (dof_ == 1) {
      value = hn::Abs(z);
      return hn::Ge(value, hn::Zero(d));
    }
    const FloatLanes one = hn::Set(d, 1.0f);
    const FloatLanes smallest = hn::Set(d, 1e-9f);
    const FloatLanes base = hn::Add(one, hn::Mul(z, hn::Set(d, step_)));
    const FloatMask positive = hn::Gt(base, smallest);
    const FloatLanes v = Cube(hn::Max(base, smallest));
    value = FastSqrt(hn::Mul(v, hn::Set(d, 2.0f * g_)));
    const FloatLanes h = LogAcceptance(z);
    const FloatLanes u = UniformFromWord(word);
    // exp(h) >= 1 + h settles nearly every lane without a logarithm.
    const FloatMask sure = hn::And(positive, hn::Lt(u, hn::Add(one, h)));
    if (hn::AllTrue(d, sure)) return sure;
    return hn::And(positive, hn::Lt(FastLog(u), h));
  }

  // h, for a candidate with 1 + t > 1e-9 and dof > 1; error below 2e-5 (1 + |h|)
  // where 0 > h > -20.
  HWY_INLINE FloatLanes LogAcceptance(FloatLanes z) const {
    const FloatTag d;
    const FloatLanes t = hn::Mul(z, hn::Set(d, step_));
    if (g_ < kSeriesFrom) {
      const FloatLanes one = hn::Set(d, 1.0f);
      const FloatLanes v = Cube(hn::Max(hn::Add(one, t), hn::Set(d, 1e-9f)));
      const FloatLanes bracket = hn::Add(hn::Sub(one, v), FastLog(v));
      return hn::MulAdd(hn::Mul(z, z), hn::Set(d, 0.5f), hn::Mul(bracket, hn::Set(d, g_)));
    }
    FloatLanes q = hn::Set(d, -1.0f / 11);
    q = hn::MulAdd(q, t, hn::Set(d, 1.0f / 10));
    q = hn::MulAdd(q, t, hn::Set(d, -1.0f / 9));
    q = hn::MulAdd(q, t, hn::Set(d, 1.0f / 8));
    q = hn::MulAdd(q, t, hn::Set(d, -1.0f / 7));
    q = hn::MulAdd(q, t, hn::Set(d, 1.0f / 6));
    q = hn::MulAdd(q, t, hn::Set(d, -1.0f / 5));
    q = hn::MulAdd(q, t, hn::Set(d, 1.0f / 4));
    const FloatLanes t2 = hn::Mul(t, t);
    return hn::Mul(hn::Mul(t2, t2), hn::Mul(q, hn::Set(d, -3.0f * g_)));
  }

 private:
  static constexpr float kSeriesFrom = 32.0f;  // |t| <= 0.4 there
  static HWY_INLINE FloatLanes Cube(FloatLanes x) { return hn::Mul(hn::Mul(x, x), x); }

  int dof_;
  float g_;
  float step_;
};

// Two independent chi variables per lane. The attempts of one call take the counters
// (first + 2 * attempt, second): leave the numbers between to the other calls with this `second`.
HWY_INLINE void ChiPair(const SampleLanes& samples, std::uint32_t first, std::uint32_t second,
                        int dof0, int dof1, FloatLanes& chi0, FloatLanes& chi1) {
  const FloatTag d;
  const ChiDistribution distribution0(dof0), distribution1(dof1);
  UintLanes w0, w1, w2, w3;
  FloatLanes z0, z1, value0, value1;
  samples.Words(first, second, w0, w1, w2, w3);
  NormalPair(w0, w1, z0, z1);
  FloatMask done0 = distribution0.Candidate(z0, w2, chi0);
  FloatMask done1 = distribution1.Candidate(z1, w3, chi1);
  while (!hn::AllTrue(d, hn::And(done0, done1))) {
    first += 2;
    samples.Words(first, second, w0, w1, w2, w3);
    NormalPair(w0, w1, z0, z1);
    const FloatMask fits0 = distribution0.Candidate(z0, w2, value0);
    const FloatMask fits1 = distribution1.Candidate(z1, w3, value1);
    chi0 = hn::IfThenElse(done0, chi0, value0);
    chi1 = hn::IfThenElse(done1, chi1, value1);
    done0 = hn::Or(done0, fits0);
    done1 = hn::Or(done1, fits1);
  }
}

}  // namespace poslens::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // POSLENS_SIMD_CHI_INL_H_
