#pragma once
// Counter-based random numbers: the same bits for the same (seed, stream, index) wherever, whenever
// and by whichever thread they are drawn.

#include <array>
#include <cstdint>

namespace poslens {

// Philox4x32 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011):
// four random words for a 128-bit counter and a 64-bit key. Seven rounds pass BigCrush; ten, the
// authors' choice, leave a margin.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key, int rounds = 10);

// A sequence of uniform numbers, keyed by seed and stream. Use it where speed does not matter
// (shuffles, tests); the simulation draws through src/simd.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint64_t stream);
  std::uint32_t next();
  // Uniform in 0..bound-1, without bias; bound > 0.
  std::uint32_t below(std::uint32_t bound);
  // Uniform in (0, 1), 53 bits.
  double uniform();
  // Standard normal (Box-Muller).
  double normal();

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> words_{};
  int used_ = 4;
};

}  // namespace poslens
