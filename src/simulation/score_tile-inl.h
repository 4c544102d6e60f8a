// Inner products of the first two or four queries of a panel with the keys of a panel, in
// registers.

#if defined(POSLENS_SIMULATION_SCORE_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef POSLENS_SIMULATION_SCORE_TILE_INL_H_
#undef POSLENS_SIMULATION_SCORE_TILE_INL_H_
#else
#define POSLENS_SIMULATION_SCORE_TILE_INL_H_
#endif

#include <algorithm>

#include "simulation/lanes-inl.h"
#include "simulation/plan.h"

HWY_BEFORE_NAMESPACE();
namespace poslens::HWY_NAMESPACE {

// One coordinate, which the first kMissing keys lack, of queries and keys kFirst, kFirst + 1, ...
template <std::size_t kFirst, std::size_t kMissing, std::size_t kColumns, std::size_t kRows>
HWY_INLINE void AddScoreCoordinate(const float* HWY_RESTRICT queries,
                                   const float* HWY_RESTRICT keys,
                                   FloatLanes (&sums)[kColumns][kRows]) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  FloatLanes query[kRows];
  Unroll<kRows>([&](auto r) POSLENS_INLINE_LAMBDA { query[r] = hn::Load(d, queries + r * lanes); });
  Unroll<kColumns>([&](auto t) POSLENS_INLINE_LAMBDA {
    if constexpr (kFirst + t >= kMissing) {
      const FloatLanes key = hn::Load(d, keys + (kFirst + t) * lanes);
      Unroll<kRows>([&](auto r) POSLENS_INLINE_LAMBDA {
        sums[t][r] = hn::MulAdd(query[r], key, sums[t][r]);
      });
    }
  });
}

// sums[t][r] += <query r, key kFirst + t>. A key panel has its first `solid` of `width` coordinates
// in all rows; coordinate solid + m lacks in the first m. The query panel has them all.
template <std::size_t kFirst, std::size_t kColumns, std::size_t kRows>
HWY_INLINE void AddScoreTile(const float* HWY_RESTRICT queries, const float* HWY_RESTRICT keys,
                             std::size_t solid, std::size_t width,
                             FloatLanes (&sums)[kColumns][kRows]) {
  const std::size_t step = kPanelRows * hn::Lanes(FloatTag());
  const float* const end = keys + solid * step;
  for (; keys != end; queries += step, keys += step) {
    AddScoreCoordinate<kFirst, 0>(queries, keys, sums);
  }
  if (width == solid) return;
  AddScoreCoordinate<kFirst, 0>(queries, keys, sums);
  if (width == solid + 1) return;
  AddScoreCoordinate<kFirst, 1>(queries + step, keys + step, sums);
  if (width == solid + 2) return;
  AddScoreCoordinate<kFirst, 2>(queries + 2 * step, keys + 2 * step, sums);
  if (width == solid + 3) return;
  AddScoreCoordinate<kFirst, 3>(queries + 3 * step, keys + 3 * step, sums);
}

// One coordinate, which the first kMissing rows lack, of the pairs of a panel's rows.
template <bool kDiagonal, std::size_t kMissing, std::size_t kRows>
HWY_INLINE void AddOwnCoordinate(const float* HWY_RESTRICT rows, FloatLanes (&sums)[kRows][kRows]) {
  const FloatTag d;
  FloatLanes x[kRows];
  Unroll<kRows>([&](auto r) POSLENS_INLINE_LAMBDA { x[r] = hn::Load(d, rows + r * hn::Lanes(d)); });
  Unroll<kRows>([&](auto c) POSLENS_INLINE_LAMBDA {
    Unroll<kRows>([&](auto r) POSLENS_INLINE_LAMBDA {
      if constexpr (c >= kMissing && r >= c + (kDiagonal ? 0 : 1)) {
        sums[c][r] = hn::MulAdd(x[r], x[c], sums[c][r]);
      }
    });
  });
}

// sums[c][r] += <row r, row c> of one panel for c < r, and for c = r with kDiagonal.
template <bool kDiagonal, std::size_t kRows>
HWY_INLINE void AddOwnScores(const float* HWY_RESTRICT rows, std::size_t solid, std::size_t width,
                             FloatLanes (&sums)[kRows][kRows]) {
  const std::size_t step = kPanelRows * hn::Lanes(FloatTag());
  const float* const end = rows + solid * step;
  for (; rows != end; rows += step) AddOwnCoordinate<kDiagonal, 0>(rows, sums);
  if (width == solid) return;
  AddOwnCoordinate<kDiagonal, 0>(rows, sums);
  if (width == solid + 1) return;
  AddOwnCoordinate<kDiagonal, 1>(rows + step, sums);
  if (width == solid + 2) return;
  AddOwnCoordinate<kDiagonal, 2>(rows + 2 * step, sums);
  if (width == solid + 3) return;
  AddOwnCoordinate<kDiagonal, 3>(rows + 3 * step, sums);
}

}  // namespace poslens::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // POSLENS_SIMULATION_SCORE_TILE_INL_H_
