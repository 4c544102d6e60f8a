#pragma once
// The simulation's random numbers, many at once; normal-inl.h and chi-inl.h are the kernels.

#include <cstdint>
#include <span>

namespace poslens::simd {

// Standard normals of samples first_sample, first_sample + 1, ...: per_sample numbers each (a
// multiple of 4), sample after sample. Numbers 4 b .. 4 b + 3 of a sample come from the Philox
// counter (b, 0, sample) with seven rounds, keyed by the seed. out.size() is a multiple of
// per_sample.
void fill_normals(std::uint64_t seed, std::uint64_t first_sample, std::int64_t per_sample,
                  std::span<float> out);

// Two independent chi variables of `dof` degrees of freedom (at least 1) for each sample.
// out.size() is even.
void fill_chi(std::uint64_t seed, std::uint64_t first_sample, int dof, std::span<float> out);

// The logarithm of the probability with which fill_chi takes a candidate that comes from the normal
// z (see chi-inl.h): for tests, since an error in it hardly shows in the drawn numbers. dof >= 2,
// 1 + z / (3 sqrt(dof/2 - 1/3)) > 0; error below 2e-5 (1 + |h|) where the result h is above -20.
void chi_log_acceptance(int dof, std::span<const float> z, std::span<float> h);

}  // namespace poslens::simd
