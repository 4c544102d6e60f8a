// Standard normals, one sample per lane, from Philox4x32 (see poslens/random.h) with seven rounds,
// the fewest that pass all tests of BigCrush, and the method of Box and Muller (1958). A draw
// depends on (seed, sample, two counter words) alone, so that the lane count, the order of draws
// and the thread change nothing but rounding.
//
// Included once per target: see Highway's foreach_target.h.

#if defined(POSLENS_SIMD_NORMAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef POSLENS_SIMD_NORMAL_INL_H_
#undef POSLENS_SIMD_NORMAL_INL_H_
#else
#define POSLENS_SIMD_NORMAL_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace poslens::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// At most 16 lanes: what a 512-bit register holds, and what buffers are sized for.
using FloatTag = hn::CappedTag<float, 16>;
using IntTag = hn::Rebind<std::int32_t, FloatTag>;
using UintTag = hn::Rebind<std::uint32_t, FloatTag>;
using WideTag = hn::Repartition<std::uint64_t, FloatTag>;
using FloatLanes = hn::Vec<FloatTag>;
using UintLanes = hn::Vec<UintTag>;
using WideLanes = hn::Vec<WideTag>;

HWY_INLINE FloatLanes SetLanes(float value) { return hn::Set(FloatTag(), value); }

// Natural logarithm of a positive normal number; relative error below 2e-7, exact 0 at 1.
// Polynomial of S. Moshier's Cephes (logf).
HWY_INLINE FloatLanes FastLog(FloatLanes x) {
  const FloatTag d;
  const IntTag di;
  // x = 2^exponent * m with m in [sqrt(1/2), sqrt(2)).
  const auto shifted = hn::Sub(hn::BitCast(di, x), hn::Set(di, 0x3F3504F3));
  const auto exponent = hn::ConvertTo(d, hn::ShiftRight<23>(shifted));
  const auto m_bits = hn::Add(hn::And(shifted, hn::Set(di, 0x007FFFFF)), hn::Set(di, 0x3F3504F3));
  const FloatLanes z = hn::Sub(hn::BitCast(d, m_bits), hn::Set(d, 1.0f));
  const FloatLanes z2 = hn::Mul(z, z);
  FloatLanes p = hn::Set(d, 7.0376836292e-2f);
  p = hn::MulAdd(p, z, hn::Set(d, -1.1514610310e-1f));
  p = hn::MulAdd(p, z, hn::Set(d, 1.1676998740e-1f));
  p = hn::MulAdd(p, z, hn::Set(d, -1.2420140846e-1f));
  p = hn::MulAdd(p, z, hn::Set(d, 1.4249322787e-1f));
  p = hn::MulAdd(p, z, hn::Set(d, -1.6668057665e-1f));
  p = hn::MulAdd(p, z, hn::Set(d, 2.0000714765e-1f));
  p = hn::MulAdd(p, z, hn::Set(d, -2.4999993993e-1f));
  p = hn::MulAdd(p, z, hn::Set(d, 3.3333331174e-1f));
  FloatLanes y = hn::Mul(hn::Mul(z2, z), p);
  y = hn::MulAdd(exponent, hn::Set(d, -2.12194440e-4f), y);
  y = hn::NegMulAdd(z2, hn::Set(d, 0.5f), y);
  return hn::MulAdd(exponent, hn::Set(d, 0.693359375f), hn::Add(z, y));
}

// Which samples the lanes hold, and the Philox keys, in the form that the rounds want: for 64-bit
// arithmetic the samples of the even and of the odd lanes apart.
class SampleLanes {
 public:
  // samples[lane] for every lane.
  SampleLanes(std::uint64_t seed, const std::uint64_t* samples) {
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      keys_[0][round] = (seed + round * 0x9E3779B9u) & 0xFFFFFFFFu;
      keys_[1][round] = ((seed >> 32) + round * 0xBB67AE85u) & 0xFFFFFFFFu;
    }
    const std::size_t wide = hn::Lanes(WideTag());
    const std::size_t parts = hn::Lanes(FloatTag()) / wide;
    for (std::size_t part = 0; part < parts; ++part) {
      for (std::size_t lane = 0; lane < wide; ++lane) {
        const std::uint64_t sample = samples[lane * parts + part];
        const std::uint64_t product = (sample & 0xFFFFFFFFu) * kMultiplier1;
        first_[part].product1[lane] = product;
        first_[part].word0[lane] = (product >> 32) ^ keys_[0][0];
        first_[part].word2[lane] = (sample >> 32) ^ keys_[1][0];
      }
    }
  }

  // The four Philox words of every lane's sample for the counter (first, second, sample).
  HWY_INLINE void Words(std::uint32_t first, std::uint32_t second, UintLanes& w0, UintLanes& w1,
                        UintLanes& w2, UintLanes& w3) const {
    WideLanes e0, e1, e2, e3;
    Rounds(first_[0], first, second, e0, e1, e2, e3);
#if HWY_TARGET == HWY_SCALAR
    const UintTag du;
    w0 = hn::TruncateTo(du, e0);
    w1 = hn::TruncateTo(du, e1);
    w2 = hn::TruncateTo(du, e2);
    w3 = hn::TruncateTo(du, e3);
#else
    WideLanes o0, o1, o2, o3;
    Rounds(first_[1], first, second, o0, o1, o2, o3);
    w0 = Interleave(e0, o0);
    w1 = Interleave(e1, o1);
    w2 = Interleave(e2, o2);
    w3 = Interleave(e3, o3);
#endif
  }

 private:
  static constexpr int kRounds = 7;
  static constexpr std::uint32_t kMultiplier0 = 0xD2511F53u;
  static constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57u;

  // What the first round does to the sample's two counter words.
  struct FirstRound {
    alignas(64) std::uint64_t product1[16];
    alignas(64) std::uint64_t word0[16];
    alignas(64) std::uint64_t word2[16];
  };

  static HWY_INLINE WideLanes Product(WideLanes a, std::uint32_t b) {
    const UintTag du;
#if HWY_TARGET == HWY_SCALAR
    return hn::MulEven(hn::TruncateTo(du, hn::And(a, hn::Set(WideTag(), 0xFFFFFFFFu))),
                       hn::Set(du, b));
#else
    return hn::MulEven(hn::BitCast(du, a), hn::Set(du, b));
#endif
  }

#if HWY_TARGET != HWY_SCALAR
  static HWY_INLINE UintLanes Interleave(WideLanes even, WideLanes odd) {
    const UintTag du;
    return hn::OddEven(hn::BitCast(du, hn::ShiftLeft<32>(odd)), hn::BitCast(du, even));
  }
#endif

  // Only the low halves of the wide lanes mean anything: MulEven ignores the high ones.
  HWY_INLINE void Rounds(const FirstRound& start, std::uint32_t first, std::uint32_t second,
                         WideLanes& c0, WideLanes& c1, WideLanes& c2, WideLanes& c3) const {
    const WideTag dw;
    const std::uint64_t product0 = std::uint64_t{first} * kMultiplier0;
    c0 = hn::Xor(hn::Load(dw, start.word0), hn::Set(dw, second));
    c1 = hn::Load(dw, start.product1);
    c2 = hn::Xor(hn::Load(dw, start.word2), hn::Set(dw, product0 >> 32));
    c3 = hn::Set(dw, product0);
    for (int round = 1; round < kRounds; ++round) {
      const WideLanes p0 = Product(c0, kMultiplier0);
      const WideLanes p1 = Product(c2, kMultiplier1);
      c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), c1), hn::Set(dw, keys_[0][round]));
      c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), c3), hn::Set(dw, keys_[1][round]));
      c1 = p1;
      c3 = p0;
    }
  }

  std::uint64_t keys_[2][kRounds];
  FirstRound first_[2];
};

// Uniform in (0, 1]: (w / 2 + 1/2) 2^-31.
HWY_INLINE FloatLanes UniformFromWord(UintLanes word) {
  const FloatTag d;
  const auto half = hn::ConvertTo(d, hn::BitCast(IntTag(), hn::ShiftRight<1>(word)));
  return hn::Mul(hn::Add(half, hn::Set(d, 0.5f)), hn::Set(d, 0x1p-31f));
}

// Newton's method from the processor's 12 or 14 bits takes a third of the time of a division or a
// root.
#undef POSLENS_HAVE_ESTIMATES
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
#define POSLENS_HAVE_ESTIMATES 1
#else
#define POSLENS_HAVE_ESTIMATES 0
#endif

// 1 / x for 1e-30 < |x| < 1e30, relative error below 3e-7.
HWY_INLINE FloatLanes FastReciprocal(FloatLanes x) {
  const FloatTag d;
#if POSLENS_HAVE_ESTIMATES
  const FloatLanes r = hn::ApproximateReciprocal(x);
  return hn::MulAdd(r, hn::NegMulAdd(x, r, hn::Set(d, 1.0f)), r);
#else
  return hn::Div(hn::Set(d, 1.0f), x);
#endif
}

// 1 / sqrt(x) for 1e-30 < x < 1e30, relative error below 3e-7.
HWY_INLINE FloatLanes FastReciprocalSqrt(FloatLanes x) {
  const FloatTag d;
#if POSLENS_HAVE_ESTIMATES
  const FloatLanes r = hn::ApproximateReciprocalSqrt(x);
  const FloatLanes rest = hn::NegMulAdd(hn::Mul(x, r), r, hn::Set(d, 1.0f));
  return hn::MulAdd(hn::Mul(rest, r), hn::Set(d, 0.5f), r);
#else
  return hn::Div(hn::Set(d, 1.0f), hn::Sqrt(x));
#endif
}

// sqrt(x) for 0 <= x < 1e30, relative error below 3e-7 where x > 1e-30, absolute below 1e-14
// elsewhere.
HWY_INLINE FloatLanes FastSqrt(FloatLanes x) {
#if POSLENS_HAVE_ESTIMATES
  const FloatTag d;
  x = hn::Max(x, hn::Set(d, 1e-30f));
  const FloatLanes r = hn::ApproximateReciprocalSqrt(x);
  const FloatLanes root = hn::Mul(x, r);
  const FloatLanes rest = hn::NegMulAdd(root, root, x);
  return hn::MulAdd(hn::Mul(rest, r), hn::Set(d, 0.5f), root);
#else
  return hn::Sqrt(x);
#endif
}

// sqrt(-2 log u) with u as UniformFromWord(word) has it: the radius of Box and Muller.
HWY_INLINE FloatLanes RadiusFromWord(UintLanes word) {
  const FloatTag d;
  const IntTag di;
  const auto half = hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<1>(word)));
  const FloatLanes x = hn::Add(half, hn::Set(d, 0.5f));  // 2^31 u
  // u = 2^exponent (1 + z), 1 + z in [sqrt(1/2), sqrt(2)).
  constexpr std::int32_t kRootHalf = 0x3F3504F3;
  const auto shifted = hn::Sub(hn::BitCast(di, x), hn::Set(di, kRootHalf + (31 << 23)));
  const auto exponent = hn::ConvertTo(d, hn::ShiftRight<23>(shifted));
  const auto m = hn::Add(hn::And(shifted, hn::Set(di, 0x007FFFFF)), hn::Set(di, kRootHalf));
  const FloatLanes z = hn::Sub(hn::BitCast(d, m), hn::Set(d, 1.0f));
  // -2 log(1 + z) / z, relative error below 2e-7 (least maximal error).
  FloatLanes p = hn::Set(d, 0.202137932f);
  p = hn::MulAdd(p, z, hn::Set(d, -0.324451715f));
  p = hn::MulAdd(p, z, hn::Set(d, 0.345016629f));
  p = hn::MulAdd(p, z, hn::Set(d, -0.39800331f));
  p = hn::MulAdd(p, z, hn::Set(d, 0.499398172f));
  p = hn::MulAdd(p, z, hn::Set(d, -0.666701198f));
  p = hn::MulAdd(p, z, hn::Set(d, 1.00000727f));
  p = hn::MulAdd(p, z, hn::Set(d, -1.99999988f));
  const FloatLanes log2s = hn::Mul(exponent, hn::Set(d, -1.3862943611198906f));
  return FastSqrt(hn::MulAdd(z, p, log2s));
}

// Two independent standard normals from two random words; |z| <= 6.67. Absolute error below 2e-6,
// near zero where the radius is small 1e-4.
HWY_INLINE void NormalPair(UintLanes radius_word, UintLanes angle_word, FloatLanes& z0,
                           FloatLanes& z1) {
  const FloatTag d;
  const IntTag di;
  const UintTag du;
  const FloatLanes radius = RadiusFromWord(radius_word);
  // The angle is quadrant * pi/2 + t, t in [-pi/4, pi/4): the lower thirty bits, as a signed
  // number, are t, and the upper two of the rounded word the quadrant.
  const auto rest = hn::BitCast(di, hn::ShiftLeft<2>(angle_word));
  const FloatLanes t =
      hn::Mul(hn::ConvertTo(d, rest), hn::Set(d, 3.6572951981480e-10f));  // 2pi/2^34
  const FloatLanes t2 = hn::Mul(t, t);
  // Cephes (sinf, cosf).
  FloatLanes sine = hn::MulAdd(hn::Set(d, -1.9515295891e-4f), t2, hn::Set(d, 8.3321608736e-3f));
  sine = hn::MulAdd(sine, t2, hn::Set(d, -1.6666654611e-1f));
  sine = hn::MulAdd(hn::Mul(sine, t2), t, t);
  FloatLanes cosine =
      hn::MulAdd(hn::Set(d, 2.443315711809948e-5f), t2, hn::Set(d, -1.388731625493765e-3f));
  cosine = hn::MulAdd(cosine, t2, hn::Set(d, 4.166664568298827e-2f));
  cosine = hn::MulAdd(cosine, t2, hn::Set(d, -0.5f));
  cosine = hn::MulAdd(cosine, t2, hn::Set(d, 1.0f));
  // Quadrant 1 swaps them and negates the cosine, 2 negates both, 3 swaps and negates the sine.
  const auto rounded = hn::Add(angle_word, hn::Set(du, std::uint32_t{1} << 29));
  const auto sign = hn::Set(du, std::uint32_t{1} << 31);
  const auto sine_sign = hn::And(rounded, sign);  // quadrants 2 and 3
  const auto cosine_sign =
      hn::And(hn::Xor(rounded, hn::ShiftLeft<1>(rounded)), sign);  // quadrants 1 and 2
  const auto odd = hn::RebindMask(d, hn::TestBit(rounded, hn::Set(du, std::uint32_t{1} << 30)));
  const FloatLanes x = hn::IfThenElse(odd, sine, cosine);
  const FloatLanes y = hn::IfThenElse(odd, cosine, sine);
  z0 = hn::Mul(radius, hn::Xor(x, hn::BitCast(d, cosine_sign)));
  z1 = hn::Mul(radius, hn::Xor(y, hn::BitCast(d, sine_sign)));
}

// Four independent standard normals per lane for the counter (first, second, sample).
HWY_INLINE void FourNormals(const SampleLanes& samples, std::uint32_t first, std::uint32_t second,
                            FloatLanes& z0, FloatLanes& z1, FloatLanes& z2, FloatLanes& z3) {
  UintLanes w0, w1, w2, w3;
  samples.Words(first, second, w0, w1, w2, w3);
  NormalPair(w0, w1, z0, z1);
  NormalPair(w2, w3, z2, z3);
}

}  // namespace poslens::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // POSLENS_SIMD_NORMAL_INL_H_
