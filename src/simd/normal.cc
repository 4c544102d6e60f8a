#include "simd/normal.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/normal.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "simd/chi-inl.h"

HWY_BEFORE_NAMESPACE();
namespace poslens::HWY_NAMESPACE {
namespace {

// Calls draw(samples, write), where write(number, lanes) stores number `number` of each sample.
template <typename Draw>
void ForSamples(std::uint64_t seed, std::uint64_t first_sample, std::size_t per_sample,
                std::span<float> out, const Draw& draw) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t count = out.size() / per_sample;
  for (std::size_t start = 0; start < count; start += lanes) {
    std::uint64_t indices[16];
    for (std::size_t lane = 0; lane < lanes; ++lane) indices[lane] = first_sample + start + lane;
    const std::size_t live = count - start < lanes ? count - start : lanes;
    draw(SampleLanes(seed, indices), [&](std::size_t number, FloatLanes values) {
      HWY_ALIGN float buffer[16];
      hn::Store(values, d, buffer);
      for (std::size_t lane = 0; lane < live; ++lane) {
        out[(start + lane) * per_sample + number] = buffer[lane];
      }
    });
  }
}

void FillNormals(std::uint64_t seed, std::uint64_t first_sample, std::int64_t per_sample,
                 std::span<float> out) {
  const auto numbers = static_cast<std::size_t>(per_sample);
  ForSamples(seed, first_sample, numbers, out, [&](const SampleLanes& samples, const auto& write) {
    for (std::size_t number = 0; number < numbers; number += 4) {
      FloatLanes z0, z1, z2, z3;
      FourNormals(samples, static_cast<std::uint32_t>(number / 4), 0, z0, z1, z2, z3);
      write(number, z0);
      write(number + 1, z1);
      write(number + 2, z2);
      write(number + 3, z3);
    }
  });
}

void FillChi(std::uint64_t seed, std::uint64_t first_sample, int dof, std::span<float> out) {
  ForSamples(seed, first_sample, 2, out, [&](const SampleLanes& samples, const auto& write) {
    FloatLanes chi0, chi1;
    ChiPair(samples, 0, 0, dof, dof, chi0, chi1);
    write(0, chi0);
    write(1, chi1);
  });
}

void ChiLogAcceptance(int dof, std::span<const float> z, std::span<float> h) {
  const FloatTag d;
  const ChiDistribution distribution(dof);
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN float buffer[16] = {};
  for (std::size_t start = 0; start < z.size(); start += lanes) {
    const std::size_t live = z.size() - start < lanes ? z.size() - start : lanes;
    for (std::size_t lane = 0; lane < live; ++lane) buffer[lane] = z[start + lane];
    hn::Store(distribution.LogAcceptance(hn::Load(d, buffer)), d, buffer);
    for (std::size_t lane = 0; lane < live; ++lane) h[start + lane] = buffer[lane];
  }
}

}  // namespace
}  // namespace poslens::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace poslens::simd {

HWY_EXPORT(FillNormals);
HWY_EXPORT(FillChi);
HWY_EXPORT(ChiLogAcceptance);

void fill_normals(std::uint64_t seed, std::uint64_t first_sample, std::int64_t per_sample,
                  std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(FillNormals)(seed, first_sample, per_sample, out);
}

void fill_chi(std::uint64_t seed, std::uint64_t first_sample, int dof, std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(FillChi)(seed, first_sample, dof, out);
}

void chi_log_acceptance(int dof, std::span<const float> z, std::span<float> h) {
  HWY_DYNAMIC_DISPATCH(ChiLogAcceptance)(dof, z, h);
}

}  // namespace poslens::simd
#endif  // HWY_ONCE
