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
// are the panel.
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

  // x_i = X (g_i + l c) / |g_i + l c|, or X (g_i + l c) sqrt((1 - alpha) / d).
  void Draw(const SampleLanes& samples) const {
    if (plan_.triangular) {
      DrawTriangular(samples);
    } else {
      DrawDense(samples);
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

  // Bartlett's decomposition: after a rotation that takes the shared vector and then x_1, x_2, ...
  // into the span of the first coordinates, row i has standard normals below the diagonal
  // coordinate i + shared, and on it the norm of what is left, a chi variable.
  void DrawTriangular(const SampleLanes& samples) const {
    const FloatTag d;
    FloatLanes shared = hn::Zero(d), unused;
    if (plan_.shared != 0) {
      const int dof = static_cast<int>(plan_.dims);
      ChiPair(samples, 0, kSharedNorm, dof, 1, shared, unused);
      shared = hn::Mul(shared, SetLanes(static_cast<float>(plan_.shared_weight)));
    }
    for (std::size_t p = 0; p < plan_.panels.size(); ++p) {
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
      for (std::size_t r = 0; plan_.shared != 0 && r < panel.rows; ++r) {
        float* x = At(panel, 0, r);
        hn::Store(hn::Add(hn::Load(d, x), shared), d, x);
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

  void DrawDense(const SampleLanes& samples) const {
    const FloatTag d;
    const std::size_t lanes = hn::Lanes(d);
    FloatLanes z0, z1, z2, z3;
    float* shared = buffers_.shared.get();
    if (plan_.shared_weight > 0) {
      const FloatLanes weight = SetLanes(static_cast<float>(plan_.shared_weight));
      for (std::size_t k = 0; k < plan_.dims; k += 4) {
        FourNormals(samples, static_cast<std::uint32_t>(k), kSharedNormals, z0, z1, z2, z3);
        hn::Store(hn::Mul(weight, z0), d, shared + k * lanes);
        hn::Store(hn::Mul(weight, z1), d, shared + (k + 1) * lanes);
        hn::Store(hn::Mul(weight, z2), d, shared + (k + 2) * lanes);
        hn::Store(hn::Mul(weight, z3), d, shared + (k + 3) * lanes);
      }
    }
    for (std::size_t p = 0; p < plan_.panels.size(); ++p) {
      const Panel& panel = plan_.panels[p];
      DrawNormals(samples, p, plan_.dims);
      for (std::size_t k = 0; plan_.shared_weight > 0 && k < plan_.dims; ++k) {
        const FloatLanes c = hn::Load(d, shared + k * lanes);
        for (std::size_t r = 0; r < panel.rows; ++r) {
          hn::Store(hn::Add(hn::Load(d, At(panel, k, r)), c), d, At(panel, k, r));
        }
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
    FloatLanes shared_mean = hn::Zero(d), unused;
    if (hidden_mean && plan_.shared != 0) {
      FloatLanes unused2, unused3;
      FourNormals(samples, 0, kSharedMean, shared_mean, unused, unused2, unused3);
      shared_mean = hn::Mul(shared_mean, SetLanes(static_cast<float>(plan_.shared_weight)));
    }
    const FloatLanes norm = SetLanes(static_cast<float>(spec.input_norm));
    const FloatLanes fixed =
        SetLanes(static_cast<float>(spec.input_norm * std::sqrt((1 - spec.alpha) / spec.dim)));
    for (std::size_t p = 0; p < plan_.panels.size(); ++p) {
      const Panel& panel = plan_.panels[p];
      FloatLanes means[kPanelRows];
      if (hidden_mean) {
        FourNormals(samples, 0, kMeans | static_cast<std::uint32_t>(p), means[0], means[1],
                    means[2], means[3]);
      }
      FloatLanes square[kPanelRows];
      for (std::size_t r = 0; r < kPanelRows; ++r) {
        means[r] = hidden_mean ? hn::Add(means[r], shared_mean) : hn::Zero(d);
        square[r] = hn::Mul(means[r], means[r]);
      }
      const float* x = At(panel, 0, 0);
      for (std::size_t k = 0; sphere && k < panel.width; ++k) {
        for (std::size_t r = 0; r < kPanelRows; ++r, x += hn::Lanes(d)) {
          square[r] = hn::MulAdd(hn::Load(d, x), hn::Load(d, x), square[r]);
        }
      }
      for (std::size_t r = 0; r < panel.rows; ++r) {
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
