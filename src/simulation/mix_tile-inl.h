// Sums over keys for the first two or four queries of a panel and a few coordinates, in registers.

#if defined(POSLENS_SIMULATION_MIX_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef POSLENS_SIMULATION_MIX_TILE_INL_H_
#undef POSLENS_SIMULATION_MIX_TILE_INL_H_
#else
#define POSLENS_SIMULATION_MIX_TILE_INL_H_
#endif

#include "simulation/lanes-inl.h"
#include "simulation/plan.h"

HWY_BEFORE_NAMESPACE();
namespace poslens::HWY_NAMESPACE {

// sums[t][r] += sum over the four keys c of a panel of coefficient[c][r] x[t][c], for coordinates
// t. Left out: keys c < t + kMissing, which lack the coordinate, and where kCausal queries r < c.
template <int kMissing, bool kCausal, std::size_t kColumns, std::size_t kRows>
HWY_INLINE void AddMixTile(const float* HWY_RESTRICT coefficients, const float* HWY_RESTRICT x,
                           FloatLanes (&sums)[kColumns][kRows]) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  Unroll<kCausal ? kRows : kPanelRows>([&](auto c) POSLENS_INLINE_LAMBDA {
    constexpr std::size_t kFirstRow = kCausal ? c : 0;
    FloatLanes coefficient[kRows];
    Unroll<kRows - kFirstRow>([&](auto i) POSLENS_INLINE_LAMBDA {
      coefficient[kFirstRow + i] =
          hn::Load(d, coefficients + (c * kPanelRows + kFirstRow + i) * lanes);
    });
    Unroll<kColumns>([&](auto t) POSLENS_INLINE_LAMBDA {
      if constexpr (static_cast<int>(c) >= static_cast<int>(t) + kMissing) {
        const FloatLanes value = hn::Load(d, x + (t * kPanelRows + c) * lanes);
        Unroll<kRows - kFirstRow>([&](auto i) POSLENS_INLINE_LAMBDA {
          sums[t][kFirstRow + i] =
              hn::MulAdd(coefficient[kFirstRow + i], value, sums[t][kFirstRow + i]);
        });
      }
    });
  });
}

constexpr int kNoneMissing = -static_cast<int>(kPanelRows);

}  // namespace poslens::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // POSLENS_SIMULATION_MIX_TILE_INL_H_
