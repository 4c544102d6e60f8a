// Observables beside means of scores, for one group of samples, one sample per lane.

#if defined(POSLENS_SIMULATION_OBSERVABLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef POSLENS_SIMULATION_OBSERVABLES_INL_H_
#undef POSLENS_SIMULATION_OBSERVABLES_INL_H_
#else
#define POSLENS_SIMULATION_OBSERVABLES_INL_H_
#endif

#include <algorithm>
#include <cmath>

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
    const LocalKeys& keys = plan.keys(layer, p * kPanelRows + r);
    const std::size_t last = std::min(keys.last, (p - panel.first_keys) * kPanelRows + r);
    if (keys.first + keys.step >= last) continue;
    const auto score = [&](std::size_t key) HWY_ATTR {
      return hn::Load(d, buffers.scores.get() + (key * kPanelRows + r) * hn::Lanes(d));
    };
    auto increases = hn::Gt(live, hn::Zero(d));
    FloatLanes earlier = score(keys.first);
    for (std::size_t key = keys.first + keys.step; key < last; key += keys.step) {
      const FloatLanes later = score(key);
      increases = hn::And(increases, hn::Gt(later, earlier));
      earlier = later;
    }
    count = hn::Add(count, hn::IfThenElseZero(hn::RebindMask(du, increases), hn::Set(du, 1)));
  }
  buffers.sums.monotone[layer] += hn::GetLane(hn::SumOfLanes(du, count));
}

// Dense engine: keeps what LayerNorm is about to take from X^(0), the mean coordinate
// sqrt(dim) * mean(x_i). The triangular engine draws it.
inline void KeepMeans(const Plan& plan, BlockBuffers& buffers) {
  const FloatTag d;
  if (plan.triangular || !buffers.means) return;
  const FloatLanes factor = SetLanes(1 / std::sqrt(static_cast<float>(plan.dims)));
  for (std::size_t i = 0; i < plan.n; ++i) {
    const Panel& panel = plan.panels[i / kPanelRows];
    const float* x = buffers.x.get() + (panel.offset + i % kPanelRows) * hn::Lanes(d);
    FloatLanes sum = hn::Zero(d);
    for (std::size_t k = 0; k < plan.dims; ++k, x += kPanelRows * hn::Lanes(d)) {
      sum = hn::Add(sum, hn::Load(d, x));
    }
    const FloatLanes scale = hn::Load(d, buffers.scale.get() + i * hn::Lanes(d));
    hn::Store(hn::Mul(sum, hn::Mul(scale, factor)), d, buffers.means.get() + i * hn::Lanes(d));
  }
}

// Norms and cosines of X^(layer). LayerNorm's output has no mean, so that a layer multiplies the
// mean coordinate by r and nothing else.
class GeometryKernel {
 public:
  GeometryKernel(const Plan& plan, std::size_t layer, BlockBuffers& buffers)
      : plan_(plan),
        layer_(layer),
        buffers_(buffers),
        mean_gain_(
            static_cast<float>(std::pow(plan.options.spec.residual, static_cast<double>(layer)))) {}

  // live: 1 in the lanes that count.
  HWY_NOINLINE void Sum(FloatLanes live) const {
    const FloatTag d;
    double* norms = buffers_.sums.hidden_norms.data() + layer_ * plan_.n;
    for (std::size_t i = 0; i < plan_.n; ++i) {
      const Panel& panel = plan_.panels[i / kPanelRows];
      FloatLanes square = hn::Zero(d);
      for (std::size_t k = 0; k < panel.width; ++k) {
        const FloatLanes x = hn::Load(d, At(panel, k) + i % kPanelRows * hn::Lanes(d));
        square = hn::MulAdd(x, x, square);
      }
      const FloatLanes mean = Mean(i), scale = Of(buffers_.scale, i);
      square = hn::MulAdd(square, hn::Mul(scale, scale), hn::Mul(mean, mean));
      const FloatLanes norm = hn::Sqrt(square);
      norms[i] += hn::GetLane(hn::SumOfLanes(d, hn::Mul(live, norm)));
      const auto positive = hn::Gt(square, hn::Zero(d));
      hn::Store(hn::IfThenElseZero(positive, hn::Div(SetLanes(1), norm)), d,
                buffers_.inverse_norms.get() + i * hn::Lanes(d));
    }
    for (std::size_t p = 0; p < plan_.panels.size(); ++p) {
      for (std::size_t q = 0; q <= p; ++q) {
        SumCosines(p, q, 0, live);
        SumCosines(p, q, kColumns, live);
      }
    }
  }

 private:
  static constexpr std::size_t kColumns = 2;

  const float* At(const Panel& panel, std::size_t k) const {
    return buffers_.x.get() + (panel.offset + k * kPanelRows) * hn::Lanes(FloatTag());
  }
  static FloatLanes Of(const LaneBuffer& values, std::size_t i) {
    return hn::Load(FloatTag(), values.get() + i * hn::Lanes(FloatTag()));
  }
  // The mean coordinate that U lacks.
  FloatLanes Mean(std::size_t i) const {
    if (!buffers_.means) return hn::Zero(FloatTag());
    return hn::Mul(SetLanes(mean_gain_), Of(buffers_.means, i));
  }

  // Rows of panel p with rows c .. c + kColumns - 1 of panel q <= p.
  HWY_INLINE void SumCosines(std::size_t p, std::size_t q, std::size_t c, FloatLanes live) const {
    const FloatTag d;
    const Panel &panel = plan_.panels[p], &others = plan_.panels[q];
    const std::size_t first = p * kPanelRows, other = q * kPanelRows + c;
    const float* HWY_RESTRICT a = At(panel, 0);
    const float* HWY_RESTRICT b = At(others, 0) + c * hn::Lanes(d);
    FloatLanes product[kColumns][kPanelRows];
    for (auto& column : product) std::fill_n(column, kPanelRows, hn::Zero(d));
    for (std::size_t k = 0; k < std::min(panel.width, others.width); ++k) {
      for (std::size_t t = 0; t < kColumns; ++t) {
        const FloatLanes y = hn::Load(d, b + t * hn::Lanes(d));
        for (std::size_t r = 0; r < kPanelRows; ++r) {
          product[t][r] = hn::MulAdd(hn::Load(d, a + r * hn::Lanes(d)), y, product[t][r]);
        }
      }
      a += kPanelRows * hn::Lanes(d);
      b += kPanelRows * hn::Lanes(d);
    }
    double* cosines = buffers_.sums.hidden_cosines.data() + layer_ * triangle_size(plan_.n);
    for (std::size_t t = 0; t < kColumns; ++t) {
      const std::size_t j = other + t;
      for (std::size_t r = 0; r < panel.rows && j < plan_.n; ++r) {
        const std::size_t i = first + r;
        if (j > i) continue;
        const FloatLanes scales = hn::Mul(Of(buffers_.scale, i), Of(buffers_.scale, j));
        const FloatLanes inner = hn::MulAdd(product[t][r], scales, hn::Mul(Mean(i), Mean(j)));
        const FloatLanes inverse =
            hn::Mul(Of(buffers_.inverse_norms, i), Of(buffers_.inverse_norms, j));
        cosines[triangle_size(i) + j] +=
            hn::GetLane(hn::SumOfLanes(d, hn::Mul(live, hn::Mul(inner, inverse))));
      }
    }
  }

  const Plan& plan_;
  std::size_t layer_;
  BlockBuffers& buffers_;
  float mean_gain_;  // r^layer
};

}  // namespace poslens::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // POSLENS_SIMULATION_OBSERVABLES_INL_H_
