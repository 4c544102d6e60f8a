// One layer of the parameter-free Transformer for one group of samples, one sample per lane.
//
// Norms are folded in. The residual stream is kept up to a factor a row, X = diag(t) U, and with
// w_j = 1/|u_j| (without a norm, w_j = t_j)
//   S_ij = factor w_i w_j <u_i, u_j>,   e_ij = exp(S_ij - shift_i),   D_i = sum_j e_ij,
//   u_i <- sum_j e_ij w_j u_j + (r t_i D_i / h) u_i,   t_i <- h / D_i
// with h = norm_output: neither Y nor A is stored, and no row is multiplied through. Queries are
// worked on panel by panel, from the last to the first: with a mask that hides later keys, a
// panel's new rows can then overwrite the old ones, which no earlier query needs.

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
#include "simulation/mix_tile-inl.h"
#include "simulation/observables-inl.h"
#include "simulation/score_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace poslens::HWY_NAMESPACE {

// Keys, or coordinates, that a register tile covers beside its four rows.
#if (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3) || HWY_ARCH_ARM_A64
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
    for (std::size_t p = plan_.panels.size(); p-- > 0;) {
      if (plan_.panels[p].rows > 2) {
        RunPanel<kPanelRows>(layer, p, live, first_of_block);
      } else {
        RunPanel<2>(layer, p, live, first_of_block);
      }
    }
    if (!Mixes(layer) || plan_.in_place) return;
    std::swap(buffers_.x, buffers_.next_x);
    std::swap(buffers_.weight, buffers_.next_weight);
    if (!spec_.rope_theta) return;
    for (const Panel& panel : plan_.panels) Rotate(panel);
  }

 private:
  // Only hidden geometry looks at what the last layer makes.
  bool Mixes(std::size_t layer) const {
    return layer + 1 < plan_.layers || plan_.options.hidden_geometry;
  }

  // kRows: 2 or 4, at least the panel's rows.
  template <std::size_t kRows>
  void RunPanel(std::size_t layer, std::size_t p, FloatLanes live, bool first_of_block) {
    const Panel& panel = plan_.panels[p];
    if (plan_.lane_sums && plan_.slope == 0 && !plan_.options.variance) {
      Scores<true, kRows>(layer, panel, live);
    } else {
      Scores<false, kRows>(layer, panel, live);
      if (plan_.slope > 0) Bias(panel);
      SumScores(layer, panel, live, first_of_block);
    }
    if (plan_.options.recency) CountRecency(layer, p, live);
    if (plan_.options.monotonicity) CountMonotone(plan_, layer, p, live, buffers_);
    if (buffers_.take) {
      buffers_.take({layer, p, Lanes(), buffers_.live_lanes, buffers_.scores.get()});
    }
    if (!Mixes(layer) && !plan_.options.probs) return;
    Softmax<kRows>(layer, p, live);
    if (!Mixes(layer)) return;
    Mix<kRows>(panel);
    if (plan_.in_place && spec_.rope_theta) Rotate(panel);
  }

  static std::size_t Lanes() { return hn::Lanes(FloatTag()); }
  static FloatLanes Load(const float* from) { return hn::Load(FloatTag(), from); }
  static void Store(FloatLanes value, float* to) { hn::Store(value, FloatTag(), to); }

  float* At(const LaneBuffer& buffer, const Panel& panel, std::size_t k) const {
    return buffer.get() + (panel.offset + k * kPanelRows) * Lanes();
  }
  std::size_t PanelNumber(const Panel& panel) const {
    return static_cast<std::size_t>(&panel - plan_.panels.data());
  }
  // Of the panel's first row.
  float* Weights(std::size_t p) const { return buffers_.weight.get() + p * kPanelRows * Lanes(); }
  float* Scales(std::size_t p) const { return buffers_.scale.get() + p * kPanelRows * Lanes(); }

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

  // w_i of the panel's rows.
  void Weigh(const Panel& panel) const {
    FloatLanes square[kPanelRows];
    StartSquares(square);
    const float* x = At(buffers_.x, panel, 0);
    for (std::size_t k = 0; k < panel.width; ++k) {
      for (std::size_t r = 0; r < kPanelRows; ++r, x += Lanes()) {
        square[r] = hn::MulAdd(Load(x), Load(x), square[r]);
      }
    }
    StoreWeights(panel, square, buffers_.weight);
  }

  // What square norms start from, so that LayerNorm makes zero of a row of equal coordinates.
  void StartSquares(FloatLanes* square) const {
    const float start = spec_.norm == Norm::layernorm ? 1e-12f * static_cast<float>(spec_.dim) : 0;
    std::fill_n(square, kPanelRows, SetLanes(start));
  }

  // w_i; zero for rows that are no tokens.
  void StoreWeights(const Panel& panel, const FloatLanes* square, const LaneBuffer& to) const {
    const std::size_t p = PanelNumber(panel);
    for (std::size_t r = 0; r < kPanelRows; ++r) {
      const FloatLanes weight =
          spec_.norm == Norm::none ? Load(Scales(p) + r * Lanes()) : FastReciprocalSqrt(square[r]);
      Store(r < panel.rows ? weight : hn::Zero(FloatTag()),
            to.get() + (p * kPanelRows + r) * Lanes());
    }
  }

  // Rotary encoding of queries and keys: pairs (k, k + rotary_dim/2) turn by the position.
  HWY_NOINLINE void Rotate(const Panel& panel) const {
    const std::size_t pairs = plan_.cosine.columns(), first = PanelNumber(panel) * kPanelRows;
    const std::size_t step = kPanelRows * Lanes();
    std::copy_n(At(buffers_.x, panel, 2 * pairs), (plan_.dims - 2 * pairs) * step,
                At(buffers_.rotated, panel, 2 * pairs));
    for (std::size_t r = 0; r < panel.rows; ++r) {
      const float* HWY_RESTRICT a = At(buffers_.x, panel, 0) + r * Lanes();
      const float* HWY_RESTRICT b = At(buffers_.x, panel, pairs) + r * Lanes();
      float* HWY_RESTRICT turned_a = At(buffers_.rotated, panel, 0) + r * Lanes();
      float* HWY_RESTRICT turned_b = At(buffers_.rotated, panel, pairs) + r * Lanes();
      const auto cosines = plan_.cosine.row(first + r), sines = plan_.sine.row(first + r);
      for (std::size_t k = 0; k < pairs; ++k) {
        const FloatLanes cosine = SetLanes(cosines[k]), sine = SetLanes(sines[k]);
        const FloatLanes x = Load(a + k * step), y = Load(b + k * step);
        Store(hn::NegMulAdd(y, sine, hn::Mul(x, cosine)), turned_a + k * step);
        Store(hn::MulAdd(x, sine, hn::Mul(y, cosine)), turned_b + k * step);
      }
    }
  }

  // The scores of a panel's queries and all keys of the key panels that they see; kSum: and adds
  // them to the sums.
  template <bool kSum, std::size_t kRows>
  HWY_NOINLINE void Scores(std::size_t layer, const Panel& panel, FloatLanes live) const {
    const LaneBuffer& rows = spec_.rope_theta ? buffers_.rotated : buffers_.x;
    const FloatLanes factor = SetLanes(static_cast<float>(plan_.score_factor));
    const std::size_t own = PanelNumber(panel);
    FloatLanes query_weight[kRows];
    for (std::size_t r = 0; r < kRows; ++r) {
      query_weight[r] = hn::Mul(factor, Load(Weights(own) + r * Lanes()));
    }
    const float* queries = At(rows, panel, 0);
    float* out = buffers_.scores.get();
    float* sum = nullptr;
    if (kSum) sum = SumsOf(buffers_.score_sums, layer, panel);
    const auto keep = [&](FloatLanes score, std::size_t index) POSLENS_INLINE_LAMBDA {
      Store(score, out + index * Lanes());
      if constexpr (kSum) {
        float* to = sum + index * Lanes();
        Store(hn::MulAdd(live, score, Load(to)), to);
      }
    };
    for (std::size_t p = panel.first_keys; p < panel.last_keys; ++p) {
      const Panel& keys = plan_.panels[p];
      if (p == own && plan_.own_score_known) {
        OwnScores<false>(queries, panel, query_weight, keep);
      } else if (p == own) {
        OwnScores<true>(queries, panel, query_weight, keep);
      } else {
        for (std::size_t c = 0; c < kPanelRows; c += kTile) {
          ScoreTile(queries, At(rows, keys, 0), keys, c, query_weight, keep);
        }
      }
      out += kPanelRows * kPanelRows * Lanes();
      if (kSum) sum += kPanelRows * kPanelRows * Lanes();
    }
  }

  float* SumsOf(const LaneSums& sums, std::size_t layer, const Panel& panel) const {
    return sums.values.get() + (layer * plan_.score_count + panel.score_offset) * Lanes();
  }

  // keep(score, key in its panel * 4 + row).

  template <std::size_t kRows, typename Keep>
  HWY_INLINE void ScoreTile(const float* queries, const float* key_rows, const Panel& keys,
                            std::size_t first, const FloatLanes (&query_weight)[kRows],
                            const Keep& keep) const {
    FloatLanes sums[kTile][kRows];
    Clear(sums);
    if (first == 0) {
      AddScoreTile<0>(queries, key_rows, keys.solid, keys.width, sums);
    } else {
      AddScoreTile<kPanelRows - kTile>(queries, key_rows, keys.solid, keys.width, sums);
    }
    Unroll<kTile>([&](auto t) POSLENS_INLINE_LAMBDA {
      const FloatLanes key_weight = Load(Weights(PanelNumber(keys)) + (first + t) * Lanes());
      Unroll<kRows>([&](auto r) POSLENS_INLINE_LAMBDA {
        keep(hn::Mul(sums[t][r], hn::Mul(query_weight[r], key_weight)),
             (first + t) * kPanelRows + r);
      });
    });
  }

  // Of a panel's queries and their own panel's keys; kDiagonal: a row's own score is not known to
  // be score_factor.
  template <bool kDiagonal, std::size_t kRows, typename Keep>
  HWY_INLINE void OwnScores(const float* rows, const Panel& panel,
                            const FloatLanes (&query_weight)[kRows], const Keep& keep) const {
    FloatLanes sums[kRows][kRows];
    Clear(sums);
    AddOwnScores<kDiagonal>(rows, panel.solid, panel.width, sums);
    Unroll<kRows>([&](auto c) POSLENS_INLINE_LAMBDA {
      const FloatLanes key_weight = Load(Weights(PanelNumber(panel)) + c * Lanes());
      Unroll<kRows - c>([&](auto i) POSLENS_INLINE_LAMBDA {
        constexpr std::size_t r = c + i;
        FloatLanes score = SetLanes(static_cast<float>(plan_.score_factor));
        if constexpr (r != c || kDiagonal) {
          score = hn::Mul(sums[c][r], hn::Mul(query_weight[r], key_weight));
        }
        keep(score, c * kPanelRows + r);
        if constexpr (r != c) keep(score, r * kPanelRows + c);
      });
    });
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

  // Rows that are no tokens do as the last one that is.
  const LocalKeys& Keys(std::size_t layer, std::size_t p, std::size_t r) const {
    return plan_.keys(layer, p * kPanelRows + std::min(r, plan_.panels[p].rows - 1));
  }

  // Pairs of visible keys k > j before the query with S_ik > S_ij.
  void CountRecency(std::size_t layer, std::size_t p, FloatLanes live) {
    const FloatTag d;
    const UintTag du;
    const Panel& panel = plan_.panels[p];
    const UintLanes one = hn::Set(du, 1);
    UintLanes count = hn::Zero(du);
    for (std::size_t r = 0; r < panel.rows; ++r) {
      const LocalKeys& keys = Keys(layer, p, r);
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

  // Replaces the panel's scores by what the rows of U are mixed with, zero where the mask hides the
  // pair and for rows that are no tokens; t_i of the next layer.
  template <std::size_t kRows>
  HWY_NOINLINE void Softmax(std::size_t layer, std::size_t p, FloatLanes live) {
    // Every query sees itself, and normed vectors of equal length have no larger inner product, so
    // that score_factor is the row's largest score, unless something else came in.
    const FloatLanes log2_e = SetLanes(1.44269504f);
    const FloatLanes shift = SetLanes(static_cast<float>(plan_.score_factor) * 1.44269504f);
    if (plan_.own_score_largest && plan_.score_factor <= 1) {
      SoftmaxBy<kRows>(layer, p, live,
                       [](FloatLanes score, std::size_t) HWY_ATTR { return FastExpOfUnit(score); });
    } else if (plan_.own_score_largest && plan_.score_factor <= 40) {
      SoftmaxBy<kRows>(layer, p, live, [=](FloatLanes score, std::size_t) HWY_ATTR {
        return FastExp2(hn::MulSub(score, log2_e, shift));
      });
    } else {
      FloatLanes shifts[kRows];
      for (std::size_t r = 0; r < kRows; ++r) {
        shifts[r] = hn::Mul(log2_e, LargestScore(Keys(layer, p, r), r));
      }
      SoftmaxBy<kRows>(layer, p, live, [&](FloatLanes score, std::size_t r) HWY_ATTR {
        const FloatLanes x = hn::MulSub(score, log2_e, shifts[r]);
        return FastExp2(hn::Max(x, SetLanes(-126.0f)));
      });
    }
  }

  FloatLanes LargestScore(const LocalKeys& keys, std::size_t r) const {
    const float* scores = buffers_.scores.get() + r * Lanes();
    FloatLanes largest = Load(scores + keys.first * kPanelRows * Lanes());
    for (std::size_t j = keys.first; j < keys.last; j += keys.step) {
      largest = hn::Max(largest, Load(scores + j * kPanelRows * Lanes()));
    }
    return largest;
  }

  // exponential(S_ir, r) = exp(S_ir - shift_r).
  template <std::size_t kRows, typename Exponential>
  HWY_INLINE void SoftmaxBy(std::size_t layer, std::size_t p, FloatLanes live,
                            const Exponential& exponential) {
    const FloatTag d;
    const Panel& panel = plan_.panels[p];
    float* scores = buffers_.scores.get();
    const float* weights = Weights(panel.first_keys);
    LocalKeys keys[kRows];
    FloatLanes sum[kRows];
    std::fill_n(sum, kRows, hn::Zero(d));
    std::size_t common_first = 0, common_last = panel.last_keys * kPanelRows;
    for (std::size_t r = 0; r < kRows; ++r) {
      keys[r] = Keys(layer, p, r);
      common_first = std::max(common_first, keys[r].first);
      common_last = keys[r].step == 1 ? std::min(common_last, keys[r].last) : 0;
    }
    common_last = std::max(common_first, common_last);
    const auto replace = [&](std::size_t j, std::size_t r, FloatLanes weight) HWY_ATTR {
      float* score = scores + (j * kPanelRows + r) * Lanes();
      const FloatLanes e = exponential(Load(score), r);
      sum[r] = hn::Add(sum[r], e);
      Store(hn::Mul(e, weight), score);
    };
    const bool probs = plan_.options.probs;
    const auto key_weight = [&](std::size_t j) HWY_ATTR {
      return probs ? SetLanes(1) : Load(weights + j * Lanes());
    };
    for (std::size_t j = common_first; j < common_last; ++j) {
      const FloatLanes weight = key_weight(j);
      Unroll<kRows>([&](auto r) POSLENS_INLINE_LAMBDA { replace(j, r, weight); });
    }
    const std::size_t all = (panel.last_keys - panel.first_keys) * kPanelRows;
    const auto replace_or_hide = [&](std::size_t j) HWY_ATTR {
      for (std::size_t r = 0; r < kRows; ++r) {
        const LocalKeys& own = keys[r];
        if (j >= own.first && j < own.last && (own.step == 1 || (j - own.first) % own.step == 0)) {
          replace(j, r, key_weight(j));
        } else {
          Store(hn::Zero(d), scores + (j * kPanelRows + r) * Lanes());
        }
      }
    };
    for (std::size_t j = 0; j < common_first; ++j) replace_or_hide(j);
    for (std::size_t j = common_last; j < all; ++j) replace_or_hide(j);
    if (probs) SumProbs(layer, panel, live, sum);
    const FloatLanes output = SetLanes(static_cast<float>(plan_.norm_output));
    const FloatLanes residual = SetLanes(static_cast<float>(spec_.residual / plan_.norm_output));
    float* own = scores + (p - panel.first_keys) * kPanelRows * kPanelRows * Lanes();
    for (std::size_t r = 0; r < panel.rows; ++r) {
      float* scale = Scales(p) + r * Lanes();
      float* diagonal = own + (r * kPanelRows + r) * Lanes();
      const FloatLanes factor = hn::Mul(residual, hn::Mul(Load(scale), sum[r]));
      Store(hn::Add(Load(diagonal), factor), diagonal);
      Store(hn::Mul(output, FastReciprocal(sum[r])), scale);
    }
    for (std::size_t r = panel.rows; r < kRows; ++r) {
      for (std::size_t j = 0; j < all; ++j) {
        Store(hn::Zero(d), scores + (j * kPanelRows + r) * Lanes());
      }
    }
  }

  // exp(S_ij - shift_i) / sum_i is a probability; the key's weight comes in after that.
  void SumProbs(std::size_t layer, const Panel& panel, FloatLanes live, const FloatLanes* sum) {
    const std::size_t at = layer * plan_.score_count + panel.score_offset;
    float* scores = buffers_.scores.get();
    const float* weights = Weights(panel.first_keys);
    for (std::size_t i = 0; i < ScoreCount(panel); ++i) {
      if (i % kPanelRows >= panel.rows) continue;
      HWY_ALIGN float probability[kMaxLanes];
      const FloatLanes e = Load(scores + i * Lanes());
      Store(hn::Div(e, sum[i % kPanelRows]), probability);
      Add(probability, 1, at + i, live, buffers_.prob_sums);
      Store(hn::Mul(e, Load(weights + i / kPanelRows * Lanes())), scores + i * Lanes());
    }
  }

  // u_i <- sum_j coefficient_ij u_j, and the weights of the next layer.
  template <std::size_t kRows>
  HWY_NOINLINE void Mix(const Panel& panel) const {
    FloatLanes square[kPanelRows];
    StartSquares(square);
    std::size_t k = 0, first = panel.first_keys;
    for (; k < plan_.shared; ++k) MixColumns<1, kRows>(panel, k, first, square);
    // From here on tiles do not cross the first coordinate that a panel has in some rows only.
    for (; k + kTile <= panel.width; k += kTile) MixColumns<kTile, kRows>(panel, k, first, square);
    for (; k < panel.width; ++k) MixColumns<1, kRows>(panel, k, first, square);
    StoreWeights(panel, square, plan_.in_place ? buffers_.weight : buffers_.next_weight);
  }

  // For coordinates k .. k + kColumns - 1; first: the first key panel that has coordinate k.
  template <std::size_t kColumns, std::size_t kRows>
  HWY_INLINE void MixColumns(const Panel& panel, std::size_t k, std::size_t& first,
                             FloatLanes* square) const {
    while (plan_.panels[first].width <= k) ++first;
    constexpr std::size_t kBlock = kPanelRows * kPanelRows;
    const float* HWY_RESTRICT m =
        buffers_.scores.get() + (first - panel.first_keys) * kBlock * Lanes();
    FloatLanes sum[kColumns][kRows];
    Clear(sum);
    // In a causal layer a panel's queries see their own panel last, and only in part.
    const std::size_t last = plan_.in_place ? PanelNumber(panel) : panel.last_keys;
    std::size_t p = first;
    const std::size_t solid = plan_.panels[first].solid;
    if (kColumns == kTile && k >= solid && p < last) {
      const float* x = At(buffers_.x, plan_.panels[p], k);
      if (k == solid) {
        AddMixTile<0, false>(m, x, sum);
      } else {
        AddMixTile<kPanelRows - kColumns, false>(m, x, sum);
      }
      m += kBlock * Lanes();
      ++p;
    }
    for (; p < last; ++p, m += kBlock * Lanes()) {
      AddMixTile<kNoneMissing, false>(m, At(buffers_.x, plan_.panels[p], k), sum);
    }
    if (plan_.in_place) {
      AddMixTile<kNoneMissing, true>(m, At(buffers_.x, panel, k), sum);
    }
    float* out = At(plan_.in_place ? buffers_.x : buffers_.next_x, panel, k);
    Unroll<kColumns>([&](auto t) POSLENS_INLINE_LAMBDA {
      Unroll<kRows>([&](auto r) POSLENS_INLINE_LAMBDA {
        square[r] = hn::MulAdd(sum[t][r], sum[t][r], square[r]);
        Store(sum[t][r], out + (t * kPanelRows + r) * Lanes());
      });
    });
  }

  const Plan& plan_;
  BlockBuffers& buffers_;
  const ParameterFreeSpec& spec_;
};

}  // namespace poslens::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // POSLENS_SIMULATION_LAYER_INL_H_
