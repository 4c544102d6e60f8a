#pragma once
// All matrix products of the model route. linear.cc alone knows the matrix library (oneDNN).

#include <cstdint>
#include <memory>

#include "model/buffer.h"
#include "simd/model_kernels.h"

namespace poslens {

// c [m, n] = a [m, k] b, all dense and row-major.
struct ProductShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool transposed = false;  // b is stored as its transpose [n, k], else as [k, n]
  bool accumulate = false;  // c += a b
};

// The weights W [outputs, inputs] of products x W^T.
template <typename T>
class WeightMatrix {
 public:
  // Room for the rows, row-major; contents are not kept unless the size is the same.
  T* resize(std::int64_t outputs, std::int64_t inputs);
  // Call it when the rows are filled: copies them to the layout that the matrix library reads
  // fastest, where that is another.
  void pack();

  std::int64_t outputs() const { return outputs_; }
  std::int64_t inputs() const { return inputs_; }
  bool packed() const { return packed_.size() > 0; }
  const void* data() const {
    return packed() ? static_cast<const void*>(packed_.data()) : rows_.data();
  }

 private:
  std::int64_t outputs_ = 0;
  std::int64_t inputs_ = 0;
  Buffer<T> rows_;
  Buffer<char> packed_;
};

// The products of one worker. It keeps what it compiled for each shape, so shapes should be few.
// Runs single-threaded inside parallel_for, the only place where it is meant to be used. Sums are
// f32 whatever the type of the factors. Throws Error when the processor lacks what the type needs.
class Products {
 public:
  Products();
  ~Products();
  Products(Products&&) noexcept;
  Products& operator=(Products&&) noexcept;

  void run(const ProductShape& shape, const float* a, const float* b, float* c);
  void run(const ProductShape& shape, const simd::BFloat16* a, const simd::BFloat16* b, float* c);

  // y [m, outputs] = x [m, inputs] W^T, or y += x W^T.
  template <typename T>
  void run(std::int64_t m, const T* x, const WeightMatrix<T>& weights, bool accumulate, float* y);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace poslens
