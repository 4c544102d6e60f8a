// Loops over rows of f32 for kernels on Highway: whole vectors, then the part that is left.
// Included once per target.

#if defined(POSLENS_SIMD_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef POSLENS_SIMD_ROWS_INL_H_
#undef POSLENS_SIMD_ROWS_INL_H_
#else
#define POSLENS_SIMD_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "simd/model_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace poslens::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using V = hn::Vec<Tag>;
using Halves = hn::Vec<hn::Rebind<std::uint16_t, Tag>>;

// Rounds to nearest even by adding just under half of the last place kept, one more when it is odd.
HWY_INLINE Halves to_bfloat16(V v) {
  const hn::RebindToUnsigned<Tag> du;
  const auto bits = hn::BitCast(du, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fff))));
  const auto is_nan = hn::RebindMask(du, hn::IsNaN(v));
  return hn::TruncateTo(hn::Rebind<std::uint16_t, Tag>(),
                        hn::IfThenElse(is_nan, hn::Set(du, 0x7fc0), rounded));
}

// The upper halves as they are.
HWY_INLINE Halves cut_to_bfloat16(V v) {
  const auto bits = hn::BitCast(hn::RebindToUnsigned<Tag>(), v);
  return hn::TruncateTo(hn::Rebind<std::uint16_t, Tag>(), hn::ShiftRight<16>(bits));
}

// Memory access of a whole vector.
struct Whole {
  HWY_INLINE V load(const float* from, float /*fill*/) const { return hn::LoadU(Tag(), from); }
  HWY_INLINE void store(V v, float* to) const { hn::StoreU(v, Tag(), to); }
  HWY_INLINE void store(V v, BFloat16* to) const { store(to_bfloat16(v), to); }
  HWY_INLINE void store(Halves v, BFloat16* to) const {
    hn::StoreU(v, hn::Rebind<std::uint16_t, Tag>(), reinterpret_cast<std::uint16_t*>(to));
  }
};

// Memory access of the first `count` lanes; the others are `fill`, and nothing beyond is touched.
struct Part {
  std::size_t count;

  HWY_INLINE V load(const float* from, float fill) const {
    const Tag d;
#if HWY_MEM_OPS_MIGHT_FAULT
    HWY_ALIGN float lanes[hn::MaxLanes(d)];
    std::fill_n(lanes, hn::Lanes(d), fill);
    std::memcpy(lanes, from, count * sizeof(float));
    return hn::Load(d, lanes);
#else
    const auto mask = hn::FirstN(d, count);
    return hn::IfThenElse(mask, hn::MaskedLoad(mask, d, from), hn::Set(d, fill));
#endif
  }
  HWY_INLINE void store(V v, float* to) const {
    const Tag d;
#if HWY_MEM_OPS_MIGHT_FAULT
    HWY_ALIGN float lanes[hn::MaxLanes(d)];
    hn::Store(v, d, lanes);
    std::memcpy(to, lanes, count * sizeof(float));
#else
    hn::BlendedStore(v, hn::FirstN(d, count), d, to);
#endif
  }
  HWY_INLINE void store(V v, BFloat16* to) const { store(to_bfloat16(v), to); }
  HWY_INLINE void store(Halves v, BFloat16* to) const {
    const hn::Rebind<std::uint16_t, Tag> d;
    HWY_ALIGN std::uint16_t lanes[hn::MaxLanes(Tag())];
    hn::Store(v, d, lanes);
    std::memcpy(to, lanes, count * sizeof(std::uint16_t));
  }
};

// Calls body(first element, access) for every vector of n elements.
template <typename Body>
HWY_INLINE void for_each_vector(std::size_t n, const Body& body) {
  const std::size_t lanes = hn::Lanes(Tag());
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) body(i, Whole{});
  if (i < n) body(i, Part{n - i});
}

}  // namespace poslens::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // POSLENS_SIMD_ROWS_INL_H_
