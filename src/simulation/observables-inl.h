// Observables beside means of scores, for one group of samples, one sample per lane.

#if defined(POSLENS_SIMULATION_OBSERVABLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef POSLENS_SIMULATION_OBSERVABLES_INL_H_
#undef POSLENS_SIMULATION_OBSERVABLES_INL_H_
#else
#define POSLENS_SIMULATION_OBSERVABLES_INL_H_
#endif

#include <algorithm>

#include "simd/normal-inl.h"
#include "simulation/buffers.h"

HWY_BEFORE_NAMESPACE();
namespace poslens::HWY_NAMESPACE {

// Counts the queries of panel p, whose scores are in buffers.scores, that see at least two keys
// before them and score these strictly higher the later they are. live: 1 in the lanes that count.
HWY_NOINLINE void CountMonotone(const Plan& plan, std::size_t layer, std::size_t p, FloatLanes live,
                                BlockBuffers& buffers) {
  const FloatTag d;
  const UintTag du;
  const Panel& panel = plan.panels[p];
  UintLanes count = hn::Zero(du);
  for (std::size_t r = 0; r < panel.rows; ++r) {
    const auto query = static_cast<std::int64_t>(p * kPanelRows + r);
    const KeyRange keys =
        plan.options.spec.mask_of(static_cast<int>(layer)).keys(query, plan.options.spec.n);
    const std::int64_t last = std::min(keys.last, query);
    if (keys.first + keys.step >= last) continue;
    const auto score = [&](std::int64_t key) HWY_ATTR {
      const std::size_t local = static_cast<std::size_t>(key) - panel.first_keys * kPanelRows;
      return hn::Load(d, buffers.scores.get() + (local * kPanelRows + r) * hn::Lanes(d));
    };
    auto increases = hn::Gt(live, hn::Zero(d));
    FloatLanes earlier = score(keys.first);
    for (std::int64_t key = keys.first + keys.step; key < last; key += keys.step) {
      const FloatLanes later = score(key);
      increases = hn::And(increases, hn::Gt(later, earlier));
      earlier = later;
    }
    count = hn::Add(count, hn::IfThenElseZero(hn::RebindMask(du, increases), hn::Set(du, 1)));
  }
  buffers.sums.monotone[layer] += hn::GetLane(hn::SumOfLanes(du, count));
}

}  // namespace poslens::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // POSLENS_SIMULATION_OBSERVABLES_INL_H_
