// The residual stream before the first layer, X^(0) = diag(t) U, for one group of samples.

#if defined(POSLENS_SIMULATION_INPUTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef POSLENS_SIMULATION_INPUTS_INL_H_
#undef POSLENS_SIMULATION_INPUTS_INL_H_
#else
#define POSLENS_SIMULATION_INPUTS_INL_H_
#endif

#include <algorithm>
#include <cmath>

#include "simd/chi-inl.h"
#include "simulation/buffers.h"

HWY_BEFORE_NAMESPACE();
namespace poslens::HWY_NAMESPACE {

// What a random number is for: the upper bits of the second Philox counter word, whose lower bits
// are the panel, or the number of the shared vector.
enum Purpose : std::uint32_t {
  kNormals = 0u << 28,
  kDiagonal = 1u << 28,
  kSharedNormals = 2u << 28,
  kSharedNorm = 3u << 28,
  kMeans = 4u << 28,
  kSharedMean = 5u << 28,
};

class InputKernel {
 public:
  InputKernel(const Plan& plan, BlockBuffers& buffers) : plan_(plan), buffers_(buffers) {}

  // x_i = X z_i / |z_i|, or X z_i sqrt((1 - alpha) / d); z_i: see parameter_free.h.
  void Draw(const SampleLanes& samples) const {
    for (const InputGroup& group : plan_.input_groups) DrawShared(samples, group);
    for (std::size_t p = 0; p < plan_.panels.size(); ++p) {
      if (plan_.triangular) {
        DrawTriangular(samples, p);
      } else {
        DrawNormals(samples, p, plan_.dims);
      }
      AddShared(p);
      if (plan_.options.spec.markov != 0) Chain(p);
    }
    Scale(samples);
  }

  // samples[lane] is the lane's sample in inputs [count, n, dims].
  void Copy(const float* inputs, const std::uint64_t* samples) const {
    const FloatTag d;
    HWY_ALIGN float values[kMaxLanes];
    for (std::size_t p = 0; p < plan_.panels.size(); ++p) {
      const Panel& panel = plan_.panels[p];
      for (std::size_t k = 0; k < std::min(panel.width, plan_.dims); ++k) {
        for (std::size_t r = 0; r < panel.rows; ++r) {
          for (std::size_t lane = 0; lane < hn::Lanes(d); ++lane) {
            const std::size_t row = samples[lane] * plan_.n + p * kPanelRows + r;
            values[lane] = inputs[row * plan_.dims + k];
          }
          hn::Store(hn::Load(d, values), d, At(panel, k, r));
        }
      }
      for (std::size_t r = 0; r < panel.rows; ++r) hn::Store(SetLanes(1), d, ScaleOf(p, r));
    }
  }

 private:
  float* At(const Panel& panel, std::size_t k, std::size_t r) const {
    return buffers_.x.get() + (panel.offset + k * kPanelRows + r) * hn::Lanes(FloatTag());
  }

  float* ScaleOf(std::size_t p, std::size_t r) const {
    return buffers_.scale.get() + (p * kPanelRows + r) * hn::Lanes(FloatTag());
  }

  const InputGroup& GroupOf(std::size_t token) const {
    return plan_.input_groups[plan_.group_of_token[token]];
  }
  float* SharedAt(const InputGroup& group, std::size_t k) const {
    return buffers_.shared.get() + (group.offset + k) * hn::Lanes(FloatTag());
  }

  // s of a group, and behind it the mean coordinate that LayerNorm does not see.
  void DrawShared(const SampleLanes& samples, const InputGroup& group) const {
    if (group.width == 0) return;
    std::fill_n(SharedAt(group, 0), (group.width + 1) * hn::Lanes(FloatTag()), 0.0f);
    if (group.common_weight > 0) AddVector(samples, 0, group.common_weight, group);
    if (group.own_weight > 0) {
      AddVector(samples, static_cast<std::uint32_t>(group.own), group.own_weight, group);
    }
  }

  // Adds weight times a shared vector to a group's s. Triangular: see DrawTriangular.
  void AddVector(const SampleLanes& samples, std::uint32_t number, float weight,
                 const InputGroup& group) const {
    const FloatTag d;
    const auto add = [&](std::size_t k, FloatLanes value) HWY_ATTR {
      float* s = SharedAt(group, k);
      hn::Store(hn::Add(hn::Load(d, s), hn::Mul(value, SetLanes(weight))), d, s);
    };
    const std::size_t dims = plan_.dims;
    const std::size_t normals = plan_.triangular ? std::min<std::size_t>(number, dims) : dims;
    FloatLanes z[4];
    for (std::size_t k = 0; k < normals; k += 4) {
      FourNormals(samples, static_cast<std::uint32_t>(k), kSharedNormals | number, z[0], z[1], z[2],
                  z[3]);
      for (std::size_t t = 0; t < std::min<std::size_t>(4, normals - k); ++t) add(k + t, z[t]);
    }
    if (normals < dims) {
      const int dof = static_cast<int>(dims - normals);
      ChiPair(samples, 0, kSharedNorm | number, dof, 1, z[0], z[1]);
      add(normals, z[0]);
    }
    FourNormals(samples, 0, kSharedMean | number, z[0], z[1], z[2], z[3]);
    add(group.width, z[0]);
  }

  // z_i = g_i + s.
  void AddShared(std::size_t p) const {
    const FloatTag d;
    const Panel& panel = plan_.panels[p];
    for (std::size_t r = 0; r < panel.rows; ++r) {
      const InputGroup& group = GroupOf(p * kPanelRows + r);
      for (std::size_t k = 0; k < group.width; ++k) {
        float* x = At(panel, k, r);
        hn::Store(hn::Add(hn::Load(d, x), hn::Load(d, SharedAt(group, k))), d, x);
      }
    }
  }

  // z_i = rho z_(i-1) + sqrt(1 - rho^2) g_i, which a triangular form stays through.
  void Chain(std::size_t p) const {
    const FloatTag d;
    const Panel& panel = plan_.panels[p];
    for (std::size_t k = 0; k < panel.width; ++k) {
      FloatLanes previous = hn::Load(d, At(panel, k, 0));
      if (p > 0) {
        const Panel& before = plan_.panels[p - 1];
        previous = k < before.width ? hn::Load(d, At(before, k, kPanelRows - 1)) : hn::Zero(d);
      }
      for (std::size_t r = p == 0 ? 1 : 0; r < panel.rows; ++r) {
        previous = Next(previous, hn::Load(d, At(panel, k, r)));
        hn::Store(previous, d, At(panel, k, r));
      }
    }
  }
  FloatLanes Next(FloatLanes previous, FloatLanes normal) const {
    const double rho = plan_.options.spec.markov;
    return hn::MulAdd(SetLanes(static_cast<float>(rho)), previous,
                      hn::Mul(SetLanes(static_cast<float>(std::sqrt(1 - rho * rho))), normal));
  }

  // Bartlett's decomposition: after a rotation that takes the shared vectors and then g_0, g_1, ...
  // into the span of the first coordinates, row i has standard normals below the diagonal
  // coordinate i + shared, and on it the norm of what is left, a chi variable.
  void DrawTriangular(const SampleLanes& samples, std::size_t p) const {
    const FloatTag d;
    const Panel& panel = plan_.panels[p];
    const std::size_t diagonal = p * kPanelRows + plan_.shared;  // of the panel's first row
    const auto word = static_cast<std::uint32_t>(p);
    const std::size_t filled = std::min(plan_.dims, diagonal);
    DrawNormals(samples, p, filled);
    // Then the triangle, row after row: (1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2).
    FloatLanes z[8];
    std::fill_n(z, 8, hn::Zero(d));
    const auto counter = static_cast<std::uint32_t>(filled);
    if (panel.rows > 1) FourNormals(samples, counter, kNormals | word, z[0], z[1], z[2], z[3]);
    if (panel.rows > 3) {
      FourNormals(samples, counter + 1, kNormals | word, z[4], z[5], z[6], z[7]);
    }
    for (std::size_t c = 0; c < panel.width - filled; ++c) {
      for (std::size_t r = 0; r < panel.rows; ++r) {
        hn::Store(c < r ? z[r * (r - 1) / 2 + c] : hn::Zero(d), d, At(panel, filled + c, r));
      }
    }
    for (std::size_t r = 0; r < panel.rows && diagonal + r < plan_.dims; r += 2) {
      const int dof = static_cast<int>(plan_.dims - diagonal - r);
      FloatLanes chi0, chi1;
      ChiPair(samples, static_cast<std::uint32_t>(r / 2), kDiagonal | word, dof,
              std::max(dof - 1, 1), chi0, chi1);
      hn::Store(chi0, d, At(panel, diagonal + r, r));
      if (r + 1 < panel.rows && dof > 1) {
        hn::Store(chi1, d, At(panel, diagonal + r + 1, r + 1));
      }
    }
  }

  // Standard normals for all coordinates below `count` of a panel.
  void DrawNormals(const SampleLanes& samples, std::size_t p, std::size_t count) const {
    const FloatTag d;
    const Panel& panel = plan_.panels[p];
    const std::uint32_t word = kNormals | static_cast<std::uint32_t>(p);
    const std::size_t rows = panel.rows;
    float* HWY_RESTRICT x = At(panel, 0, 0);
    const std::size_t lanes = hn::Lanes(d);
    const std::size_t coordinates = rows > 2 ? 1 : 2;      // in one go
    const std::size_t second = rows > 2 ? 2 : kPanelRows;  // place of the third and fourth number
    FloatLanes z0, z1, z2, z3;
    for (std::size_t k = 0; k < count; k += coordinates, x += coordinates * kPanelRows * lanes) {
      FourNormals(samples, static_cast<std::uint32_t>(k), word, z0, z1, z2, z3);
      hn::Store(z0, d, x);
      if (rows > 1) hn::Store(z1, d, x + lanes);
      if (rows == 3) {
        hn::Store(z2, d, x + 2 * lanes);
      } else if (rows > 3 || k + 1 < count) {
        hn::Store(z2, d, x + second * lanes);
        if (rows > 1) hn::Store(z3, d, x + (second + 1) * lanes);
      }
    }
  }

  void Scale(const SampleLanes& samples) const {
    const FloatTag d;
    const ParameterFreeSpec& spec = plan_.options.spec;
    const bool sphere = spec.inputs == Inputs::sphere;
    // LayerNorm sees no mean coordinate, but the inputs' norms do.
    const bool keep_means = plan_.triangular && buffers_.means;
    const bool hidden_mean =
        plan_.triangular && spec.norm == Norm::layernorm && (sphere || keep_means);
    const FloatLanes norm = SetLanes(static_cast<float>(spec.input_norm));
    FloatLanes previous_mean = hn::Zero(d);
    for (std::size_t p = 0; p < plan_.panels.size(); ++p) {
      const Panel& panel = plan_.panels[p];
      FloatLanes means[kPanelRows], square[kPanelRows];
      std::fill_n(means, kPanelRows, hn::Zero(d));
      if (hidden_mean) {
        for (std::size_t r = 0; r < panel.rows; ++r) {
          const InputGroup& group = GroupOf(p * kPanelRows + r);
          if (group.width > 0) means[r] = hn::Load(d, SharedAt(group, group.width));
        }
        FloatLanes z[kPanelRows];
        FourNormals(samples, 0, kMeans | static_cast<std::uint32_t>(p), z[0], z[1], z[2], z[3]);
        for (std::size_t r = 0; r < kPanelRows; ++r) means[r] = hn::Add(z[r], means[r]);
        for (std::size_t r = 0; spec.markov != 0 && r < kPanelRows; ++r) {
          if (p + r > 0) means[r] = Next(previous_mean, means[r]);
          previous_mean = means[r];
        }
      }
      for (std::size_t r = 0; r < kPanelRows; ++r) square[r] = hn::Mul(means[r], means[r]);
      const float* x = At(panel, 0, 0);
      for (std::size_t k = 0; sphere && k < panel.width; ++k) {
        for (std::size_t r = 0; r < kPanelRows; ++r, x += hn::Lanes(d)) {
          square[r] = hn::MulAdd(hn::Load(d, x), hn::Load(d, x), square[r]);
        }
      }
      for (std::size_t r = 0; r < panel.rows; ++r) {
        const FloatLanes fixed = SetLanes(GroupOf(p * kPanelRows + r).gaussian_scale);
        hn::Store(sphere ? hn::Mul(norm, FastReciprocalSqrt(square[r])) : fixed, d, ScaleOf(p, r));
      }
      for (std::size_t r = 0; keep_means && r < panel.rows; ++r) {
        float* kept = buffers_.means.get() + (p * kPanelRows + r) * hn::Lanes(d);
        hn::Store(hn::Mul(means[r], hn::Load(d, ScaleOf(p, r))), d, kept);
      }
    }
  }

  const Plan& plan_;
  BlockBuffers& buffers_;
};

}  // namespace poslens::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // POSLENS_SIMULATION_INPUTS_INL_H_
