// One layer of the parameter-free Transformer for one group of samples, one sample per lane.
//
// The norm is folded in: with w_i = 1/|x_i| the scores are S_ij = factor w_i w_j <x_i, x_j>, and
// A Y = A diag(norm_output w) X, so that Y is never stored. Queries are worked on panel by panel,
// from the last to the first: with a mask that hides later keys, a panel's new rows can then
// overwrite the old ones, which no earlier query needs.

#if defined(POSLENS_SIMULATION_LAYER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef POSLENS_SIMULATION_LAYER_INL_H_
#undef POSLENS_SIMULATION_LAYER_INL_H_
#else
#define POSLENS_SIMULATION_LAYER_INL_H_
#endif

#include <algorithm>
#include <utility>

#include "simulation/buffers.h"
#include "simulation/lanes-inl.h"
#include "simulation/observables-inl.h"

HWY_BEFORE_NAMESPACE();
namespace poslens::HWY_NAMESPACE {

// Local key indices first, first + step, ... below last of a panel's query.
struct LocalKeys {
  std::size_t first;
  std::size_t last;
  std::size_t step;
};

// Keys, or coordinates, that a register tile covers beside its four rows.
#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr std::size_t kTile = 4;  // 32 registers
#else
constexpr std::size_t kTile = 2;
#endif

class LayerKernel {
 public:
  LayerKernel(const Plan& plan, BlockBuffers& buffers)
      : plan_(plan), buffers_(buffers), spec_(plan.options.spec) {}

  // From X^(0) in buffers.x: what the first layer needs.
  void Prepare() const {
    for (const Panel& panel : plan_.panels) {
      if (spec_.norm == Norm::layernorm && !plan_.triangular) Centre(panel);
      Weigh(panel);
      if (spec_.rope_theta) Rotate(panel);
    }
  }

  // live: 1 in the lanes that count, 0 in the others.
  void Run(std::size_t layer, FloatLanes live, bool first_of_block) {
    const bool last = layer + 1 == plan_.layers;
    for (std::size_t p = plan_.panels.size(); p-- > 0;) {
      const Panel& panel = plan_.panels[p];
      Scores(panel);
      if (plan_.slope > 0) Bias(panel);
      SumScores(layer, panel, live, first_of_block);
      if (plan_.options.recency) CountRecency(layer, p, live);
      if (plan_.options.monotonicity) CountMonotone(plan_, layer, p, live, buffers_);
      if (last && !plan_.options.probs) continue;
      FloatLanes row_scale[kPanelRows];
      Softmax(layer, p, live, row_scale);
      if (last) continue;
      Mix(panel, row_scale);
      if (plan_.in_place) {
        Weigh(panel);
        if (spec_.rope_theta) Rotate(panel);
      }
    }
    if (last || plan_.in_place) return;
    std::swap(buffers_.x, buffers_.next_x);
    for (const Panel& panel : plan_.panels) {
      Weigh(panel);
      if (spec_.rope_theta) Rotate(panel);
    }
  }

 private:
  static std::size_t Lanes() { return hn::Lanes(FloatTag()); }
  static FloatLanes Load(const float* from) { return hn::Load(FloatTag(), from); }
  static void Store(FloatLanes value, float* to) { hn::Store(value, FloatTag(), to); }

  float* At(const LaneBuffer& buffer, const Panel& panel, std::size_t k) const {
    return buffer.get() + (panel.offset + k * kPanelRows) * Lanes();
  }
  std::size_t PanelNumber(const Panel& panel) const {
    return static_cast<std::size_t>(&panel - plan_.panels.data());
  }
  float* Weights(std::size_t p) const { return buffers_.weight.get() + p * kPanelRows * Lanes(); }

  // Subtracts each row's mean over its coordinates (LayerNorm sees nothing of it).
  void Centre(const Panel& panel) const {
    const FloatLanes inverse = SetLanes(1.0f / static_cast<float>(plan_.dims));
    for (std::size_t r = 0; r < panel.rows; ++r) {
      FloatLanes sum = hn::Zero(FloatTag());
      for (std::size_t k = 0; k < plan_.dims; ++k) {
        sum = hn::Add(sum, Load(At(buffers_.x, panel, k) + r * Lanes()));
      }
      const FloatLanes mean = hn::Mul(sum, inverse);
      for (std::size_t k = 0; k < plan_.dims; ++k) {
        float* x = At(buffers_.x, panel, k) + r * Lanes();
        Store(hn::Sub(Load(x), mean), x);
      }
    }
  }

  // w_i of the panel's rows; zero for rows that are no tokens.
  HWY_NOINLINE void Weigh(const Panel& panel) const {
    const FloatTag d;
    FloatLanes square[kPanelRows];
    const float start = spec_.norm == Norm::layernorm ? 1e-12f * static_cast<float>(spec_.dim) : 0;
    std::fill_n(square, kPanelRows, SetLanes(start));
    const float* x = At(buffers_.x, panel, 0);
    if (spec_.norm != Norm::none) {
      for (std::size_t k = 0; k < panel.width; ++k) {
        for (std::size_t r = 0; r < kPanelRows; ++r, x += Lanes()) {
          square[r] = hn::MulAdd(Load(x), Load(x), square[r]);
        }
      }
    }
    float* weights = Weights(PanelNumber(panel));
    for (std::size_t r = 0; r < kPanelRows; ++r) {
      const FloatLanes one = SetLanes(1);
      const FloatLanes weight = spec_.norm == Norm::none ? one : hn::Div(one, hn::Sqrt(square[r]));
      Store(r < panel.rows ? weight : hn::Zero(d), weights + r * Lanes());
    }
  }

  // Rotary encoding of queries and keys: pairs (k, k + rotary_dim/2) turn by the position.
  void Rotate(const Panel& panel) const {
    const std::size_t pairs = plan_.cosine.columns(), first = PanelNumber(panel) * kPanelRows;
    for (std::size_t k = 2 * pairs; k < plan_.dims; ++k) {
      std::copy_n(At(buffers_.x, panel, k), kPanelRows * Lanes(), At(buffers_.rotated, panel, k));
    }
    for (std::size_t k = 0; k < pairs; ++k) {
      for (std::size_t r = 0; r < panel.rows; ++r) {
        const FloatLanes cosine = SetLanes(plan_.cosine(first + r, k));
        const FloatLanes sine = SetLanes(plan_.sine(first + r, k));
        const FloatLanes a = Load(At(buffers_.x, panel, k) + r * Lanes());
        const FloatLanes b = Load(At(buffers_.x, panel, k + pairs) + r * Lanes());
        Store(hn::NegMulAdd(b, sine, hn::Mul(a, cosine)),
              At(buffers_.rotated, panel, k) + r * Lanes());
        Store(hn::MulAdd(a, sine, hn::Mul(b, cosine)),
              At(buffers_.rotated, panel, k + pairs) + r * Lanes());
      }
    }
  }

  // The scores of a panel's queries and all keys of the key panels that they see.
  HWY_NOINLINE void Scores(const Panel& panel) const {
    const LaneBuffer& rows = spec_.rope_theta ? buffers_.rotated : buffers_.x;
    const FloatLanes factor = SetLanes(static_cast<float>(plan_.score_factor));
    FloatLanes query_weight[kPanelRows];
    for (std::size_t r = 0; r < kPanelRows; ++r) {
      query_weight[r] = hn::Mul(factor, Load(Weights(PanelNumber(panel)) + r * Lanes()));
    }
    float* out = buffers_.scores.get();
    for (std::size_t p = panel.first_keys; p < panel.last_keys; ++p) {
      const Panel& keys = plan_.panels[p];
      const std::size_t width = std::min(panel.width, keys.width);
      for (std::size_t c = 0; c < kPanelRows; c += kTile) {
        const float* HWY_RESTRICT a = At(rows, panel, 0);
        const float* HWY_RESTRICT b = At(rows, keys, 0) + c * Lanes();
        FloatLanes sum[kTile][kPanelRows];
        for (auto& column : sum) std::fill_n(column, kPanelRows, hn::Zero(FloatTag()));
        for (std::size_t k = 0; k < width; ++k) {
          FloatLanes query[kPanelRows];
          for (std::size_t r = 0; r < kPanelRows; ++r) query[r] = Load(a + r * Lanes());
          for (std::size_t t = 0; t < kTile; ++t) {
            const FloatLanes key = Load(b + t * Lanes());
            for (std::size_t r = 0; r < kPanelRows; ++r) {
              sum[t][r] = hn::MulAdd(query[r], key, sum[t][r]);
            }
          }
          a += kPanelRows * Lanes();
          b += kPanelRows * Lanes();
        }
        for (std::size_t t = 0; t < kTile; ++t) {
          const FloatLanes key_weight = Load(Weights(p) + (c + t) * Lanes());
          for (std::size_t r = 0; r < kPanelRows; ++r, out += Lanes()) {
            Store(hn::Mul(sum[t][r], hn::Mul(query_weight[r], key_weight)), out);
          }
        }
      }
    }
  }

  // Adds ALiBi's slope (j - i) to a panel's scores.
  void Bias(const Panel& panel) const {
    const auto slope = static_cast<float>(plan_.slope);
    float* score = buffers_.scores.get();
    const auto query = static_cast<float>(PanelNumber(panel) * kPanelRows);
    for (std::size_t j = panel.first_keys * kPanelRows; j < panel.last_keys * kPanelRows; ++j) {
      for (std::size_t r = 0; r < kPanelRows; ++r, score += Lanes()) {
        const float offset = static_cast<float>(j) - query - static_cast<float>(r);
        Store(hn::Add(Load(score), SetLanes(slope * offset)), score);
      }
    }
  }

  static std::size_t ScoreCount(const Panel& panel) {
    return (panel.last_keys - panel.first_keys) * kPanelRows * kPanelRows;
  }

  // sums[at + i] += live * values[i]
  void Add(const float* values, std::size_t count, std::size_t at, FloatLanes live,
           LaneSums& sums) const {
    const FloatTag d;
    if (plan_.lane_sums) {
      float* to = sums.values.get() + at * Lanes();
      for (std::size_t i = 0; i < count * Lanes(); i += Lanes()) {
        Store(hn::MulAdd(live, Load(values + i), Load(to + i)), to + i);
      }
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        const FloatLanes value = hn::Mul(live, Load(values + i * Lanes()));
        sums.values[at + i] += hn::GetLane(hn::SumOfLanes(d, value));
      }
    }
  }

  // With variance, sums of differences from the block's first sample and of their squares.
  HWY_NOINLINE void SumScores(std::size_t layer, const Panel& panel, FloatLanes live,
                              bool first_of_block) {
    const std::size_t at = layer * plan_.score_count + panel.score_offset;
    const std::size_t count = ScoreCount(panel);
    const float* scores = buffers_.scores.get();
    if (!plan_.options.variance) {
      Add(scores, count, at, live, buffers_.score_sums);
      return;
    }
    float* pivots = buffers_.pivots.get() + at;
    for (std::size_t i = 0; i < count; ++i) {
      if (first_of_block) pivots[i] = scores[i * Lanes()];
      HWY_ALIGN float difference[kMaxLanes];
      HWY_ALIGN float square[kMaxLanes];
      const FloatLanes y = hn::Sub(Load(scores + i * Lanes()), SetLanes(pivots[i]));
      Store(y, difference);
      Store(hn::Mul(y, y), square);
      Add(difference, 1, at + i, live, buffers_.score_sums);
      Add(square, 1, at + i, live, buffers_.square_sums);
    }
  }

  LocalKeys Keys(std::size_t layer, std::size_t p, std::size_t r) const {
    const Panel& panel = plan_.panels[p];
    // Rows that are no tokens do as the last one that is.
    const std::size_t row = p * kPanelRows + std::min(r, panel.rows - 1);
    const KeyRange keys =
        spec_.mask_of(static_cast<int>(layer)).keys(static_cast<std::int64_t>(row), spec_.n);
    const std::size_t start = panel.first_keys * kPanelRows;
    return {static_cast<std::size_t>(keys.first) - start,
            static_cast<std::size_t>(keys.last) - start, static_cast<std::size_t>(keys.step)};
  }

  // Pairs of visible keys k > j before the query with S_ik > S_ij.
  void CountRecency(std::size_t layer, std::size_t p, FloatLanes live) {
    const FloatTag d;
    const UintTag du;
    const Panel& panel = plan_.panels[p];
    const UintLanes one = hn::Set(du, 1);
    UintLanes count = hn::Zero(du);
    for (std::size_t r = 0; r < panel.rows; ++r) {
      const LocalKeys keys = Keys(layer, p, r);
      const std::size_t query = (p - panel.first_keys) * kPanelRows + r;
      const float* scores = buffers_.scores.get() + r * Lanes();
      for (std::size_t k = keys.first + keys.step; k < std::min(keys.last, query); k += keys.step) {
        const FloatLanes later = Load(scores + k * kPanelRows * Lanes());
        for (std::size_t j = keys.first; j < k; j += keys.step) {
          const auto greater = hn::Gt(later, Load(scores + j * kPanelRows * Lanes()));
          count = hn::IfThenElse(hn::RebindMask(du, greater), hn::Add(count, one), count);
        }
      }
    }
    count = hn::IfThenElseZero(hn::RebindMask(du, hn::Gt(live, hn::Zero(d))), count);
    buffers_.sums.recency[layer] += hn::GetLane(hn::SumOfLanes(du, count));
  }

  // Replaces the panel's scores by exp(S_ij - shift_i) w_j, zero where the mask hides the pair;
  // row_scale_i = norm_output / sum_j exp(S_ij - shift_i), zero for rows that are no tokens.
  void Softmax(std::size_t layer, std::size_t p, FloatLanes live, FloatLanes* row_scale) {
    const FloatTag d;
    const Panel& panel = plan_.panels[p];
    float* scores = buffers_.scores.get();
    const float* weights = Weights(panel.first_keys);
    const bool probs = plan_.options.probs;
    LocalKeys keys[kPanelRows];
    FloatLanes shift[kPanelRows], sum[kPanelRows];
    // Every query sees itself, and normed vectors of equal length have no larger inner product, so
    // that score_factor is the row's largest score, unless something else came in.
    std::fill_n(shift, kPanelRows, SetLanes(static_cast<float>(plan_.score_factor)));
    const FloatLanes log2_e = SetLanes(1.44269504f);
    std::fill_n(sum, kPanelRows, hn::Zero(d));
    std::size_t common_first = 0, common_last = panel.last_keys * kPanelRows;
    for (std::size_t r = 0; r < kPanelRows; ++r) {
      keys[r] = Keys(layer, p, r);
      common_first = std::max(common_first, keys[r].first);
      common_last = keys[r].step == 1 ? std::min(common_last, keys[r].last) : 0;
      if (!plan_.own_score_largest) {
        shift[r] = Load(scores + (keys[r].first * kPanelRows + r) * Lanes());
        for (std::size_t j = keys[r].first; j < keys[r].last; j += keys[r].step) {
          shift[r] = hn::Max(shift[r], Load(scores + (j * kPanelRows + r) * Lanes()));
        }
      }
      shift[r] = hn::Mul(shift[r], log2_e);
    }
    common_last = std::max(common_first, common_last);
    const auto replace = [&](std::size_t j, std::size_t r, FloatLanes weight) HWY_ATTR {
      float* score = scores + (j * kPanelRows + r) * Lanes();
      const FloatLanes e = FastExp2(hn::MulSub(Load(score), log2_e, shift[r]));
      sum[r] = hn::Add(sum[r], e);
      Store(probs ? e : hn::Mul(e, weight), score);
    };
    for (std::size_t j = common_first; j < common_last; ++j) {
      const FloatLanes weight = Load(weights + j * Lanes());
      replace(j, 0, weight);
      replace(j, 1, weight);
      replace(j, 2, weight);
      replace(j, 3, weight);
    }
    const std::size_t all = (panel.last_keys - panel.first_keys) * kPanelRows;
    const auto replace_or_hide = [&](std::size_t j) HWY_ATTR {
      for (std::size_t r = 0; r < kPanelRows; ++r) {
        if (j >= keys[r].first && j < keys[r].last && (j - keys[r].first) % keys[r].step == 0) {
          replace(j, r, Load(weights + j * Lanes()));
        } else {
          Store(hn::Zero(d), scores + (j * kPanelRows + r) * Lanes());
        }
      }
    };
    for (std::size_t j = 0; j < common_first; ++j) replace_or_hide(j);
    for (std::size_t j = common_last; j < all; ++j) replace_or_hide(j);
    const FloatLanes output = SetLanes(static_cast<float>(plan_.norm_output));
    for (std::size_t r = 0; r < kPanelRows; ++r) {
      row_scale[r] = r < panel.rows ? hn::Div(output, sum[r]) : hn::Zero(d);
    }
    if (!probs) return;
    const std::size_t at = layer * plan_.score_count + panel.score_offset;
    for (std::size_t i = 0; i < all * kPanelRows; ++i) {
      HWY_ALIGN float probability[kMaxLanes];
      const FloatLanes e = Load(scores + i * Lanes());
      Store(hn::Div(e, sum[i % kPanelRows]), probability);
      Add(probability, 1, at + i, live, buffers_.prob_sums);
      Store(hn::Mul(e, Load(weights + i / kPanelRows * Lanes())), scores + i * Lanes());
    }
  }

  // X_i <- row_scale_i sum_j coefficient_ij X_j + r X_i.
  void Mix(const Panel& panel, const FloatLanes* row_scale) const {
    std::size_t k = 0, first = panel.first_keys;
    // A tile must not reach beyond the width of a key panel: 4 p + 4, or with a shared coordinate
    // 4 p + 6, or that of all the last ones.
    if (plan_.shared != 0) {
      MixTile<2>(panel, row_scale, k, first);
      k = 2;
    }
    for (; k + kTile <= panel.width; k += kTile) MixTile<kTile>(panel, row_scale, k, first);
    for (; k < panel.width; k += 2) MixTile<2>(panel, row_scale, k, first);
  }

  // For coordinates k .. k + kColumns - 1; first: the first key panel that has coordinate k.
  template <std::size_t kColumns>
  HWY_INLINE void MixTile(const Panel& panel, const FloatLanes* row_scale, std::size_t k,
                          std::size_t& first) const {
    while (plan_.panels[first].width <= k) ++first;
    const float* HWY_RESTRICT m =
        buffers_.scores.get() + (first - panel.first_keys) * kPanelRows * kPanelRows * Lanes();
    FloatLanes sum[kColumns][kPanelRows];
    for (auto& column : sum) std::fill_n(column, kPanelRows, hn::Zero(FloatTag()));
    for (std::size_t p = first; p < panel.last_keys; ++p) {
      const float* HWY_RESTRICT x = At(buffers_.x, plan_.panels[p], k);
      for (std::size_t c = 0; c < kPanelRows; ++c) {
        FloatLanes coefficient[kPanelRows];
        for (std::size_t r = 0; r < kPanelRows; ++r) coefficient[r] = Load(m + r * Lanes());
        for (std::size_t t = 0; t < kColumns; ++t) {
          const FloatLanes value = Load(x + t * kPanelRows * Lanes());
          for (std::size_t r = 0; r < kPanelRows; ++r) {
            sum[t][r] = hn::MulAdd(coefficient[r], value, sum[t][r]);
          }
        }
        x += Lanes();
        m += kPanelRows * Lanes();
      }
    }
    const FloatLanes residual = SetLanes(static_cast<float>(spec_.residual));
    const float* old = At(buffers_.x, panel, k);
    float* out = At(plan_.in_place ? buffers_.x : buffers_.next_x, panel, k);
    for (std::size_t t = 0; t < kColumns; ++t) {
      for (std::size_t r = 0; r < kPanelRows; ++r, old += Lanes(), out += Lanes()) {
        Store(hn::MulAdd(sum[t][r], row_scale[r], hn::Mul(residual, Load(old))), out);
      }
    }
  }

  const Plan& plan_;
  BlockBuffers& buffers_;
  const ParameterFreeSpec& spec_;
};

}  // namespace poslens::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // POSLENS_SIMULATION_LAYER_INL_H_
