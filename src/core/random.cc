#include "poslens/random.h"

#include <cmath>
#include <numbers>

namespace poslens {
namespace {

constexpr std::uint32_t kMultiplier0 = 0xD2511F53;
constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
constexpr std::uint32_t kWeyl1 = 0xBB67AE85;

std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * counter[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * counter[2];
    counter = {high(product1) ^ counter[1] ^ key[0], low(product1),
               high(product0) ^ counter[3] ^ key[1], low(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

RandomStream::RandomStream(std::uint64_t seed, std::uint64_t stream)
    : key_{low(seed), high(seed)}, counter_{0, 0, low(stream), high(stream)} {}

std::uint32_t RandomStream::next() {
  if (used_ == 4) {
    words_ = philox4x32(counter_, key_);
    if (++counter_[0] == 0) ++counter_[1];
    used_ = 0;
  }
  return words_[static_cast<std::size_t>(used_++)];
}

std::uint32_t RandomStream::below(std::uint32_t bound) {
  // Lemire, "Fast random integer generation in an interval", 2019: reject the few words that would
  // make some values likelier.
  std::uint64_t product = std::uint64_t{next()} * bound;
  if (low(product) < bound) {
    const std::uint32_t threshold = (0u - bound) % bound;
    while (low(product) < threshold) product = std::uint64_t{next()} * bound;
  }
  return high(product);
}

double RandomStream::uniform() {
  const std::uint64_t bits = (std::uint64_t{next()} << 21) ^ (next() >> 11);
  return (static_cast<double>(bits) + 0.5) * 0x1p-53;
}

double RandomStream::normal() {
  const double radius = std::sqrt(-2.0 * std::log(uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace poslens
