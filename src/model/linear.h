#pragma once
// All matrix products of the model route. linear.cc alone knows the matrix library (oneDNN).

#include <cstdint>
#include <memory>
#include <tuple>

#include "simd/model_kernels.h"

namespace poslens {

// c [m, n] = a [m, k] b, all dense and row-major.
struct ProductShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool transposed = false;  // b is stored as its transpose [n, k], else as [k, n]
  bool accumulate = false;  // c += a b

  bool operator<(const ProductShape& other) const {
    return std::tie(m, n, k, transposed, accumulate) <
           std::tie(other.m, other.n, other.k, other.transposed, other.accumulate);
  }
};

// The products of one worker. It keeps what it compiled for each shape, so shapes should be few.
// Runs single-threaded inside parallel_for, the only place where it is meant to be used.
class Products {
 public:
  Products();
  ~Products();
  Products(Products&&) noexcept;
  Products& operator=(Products&&) noexcept;

  // Sums are f32 whatever the type of the factors. Throws Error when the processor lacks what the
  // type needs.
  void run(const ProductShape& shape, const float* a, const float* b, float* c);
  void run(const ProductShape& shape, const simd::BFloat16* a, const simd::BFloat16* b, float* c);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace poslens
