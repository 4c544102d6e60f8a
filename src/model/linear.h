#pragma once
// All matrix products of the model route. linear.cc alone knows the matrix library (oneDNN).

#include <algorithm>
#include <array>
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

// Into what panels a matrix is cut, so that products with one of them stay in the cache.
enum class CutAlong { nothing, outputs, inputs };

// The weights W [outputs, inputs] of products x W^T.
//
// f32 weights that are all exactly bf16 numbers, as those of most published checkpoints are, are
// kept as such where the processor has a bf16 tile unit (AMX). An f32 x is then the sum of three
// bf16 parts without error (8 bits of its significand each), their products with W are exact in
// f32, and three products of the tile unit give x W^T with the rounding of f32 sums alone, in less
// than half the time of one f32 product.
template <typename T>
class WeightMatrix {
 public:
  // Room for the rows, row-major; contents are not kept unless the size is the same.
  T* resize(std::int64_t outputs, std::int64_t inputs, CutAlong cut = CutAlong::nothing);
  // Call it when the rows are filled: copies them to the layout that the matrix library reads
  // fastest, where that is another.
  void pack();

  std::int64_t outputs() const { return outputs_; }
  std::int64_t inputs() const { return inputs_; }
  // Panels of equal width but for the last. That of matrices cut along their outputs depends on the
  // number of outputs alone, and so for inputs: one's outputs can be the other's inputs.
  std::int64_t panels() const { return panels_; }
  std::int64_t first_output(std::int64_t panel) const {
    return cut_ == CutAlong::outputs ? panel * width_ : 0;
  }
  std::int64_t panel_outputs(std::int64_t panel) const {
    return cut_ == CutAlong::outputs ? panel_width(panel, outputs_) : outputs_;
  }
  std::int64_t panel_inputs(std::int64_t panel) const {
    return cut_ == CutAlong::inputs ? panel_width(panel, inputs_) : inputs_;
  }

 private:
  friend class Products;

  std::int64_t panel_width(std::int64_t panel, std::int64_t whole) const {
    return std::min(width_, whole - panel * width_);
  }
  bool halved() const { return halves_.size() > 0; }  // kept as bf16 though T is float
  bool packed() const { return packed_.size() > 0; }
  const void* data(std::int64_t panel) const;

  std::int64_t outputs_ = 0;
  std::int64_t inputs_ = 0;
  CutAlong cut_ = CutAlong::nothing;
  std::int64_t panels_ = 1;
  std::int64_t width_ = 0;  // of a panel, where cut
  Buffer<T> rows_;
  Buffer<simd::BFloat16> halves_;  // the rows as bf16
  Buffer<char> packed_;            // [panels]
};

// The rows x [m, k] that several products have as their left factor. They must not change as long
// as this one is used.
template <typename T>
class LeftFactor {
 public:
  void set(std::int64_t m, const T* rows) {
    m_ = m;
    rows_ = rows;
    is_split_ = false;
  }

 private:
  friend class Products;

  std::int64_t m_ = 0;
  const T* rows_ = nullptr;
  bool is_split_ = false;
  std::array<Buffer<simd::BFloat16>, 3> parts_;  // of f32 rows, made when a product needs them
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

  // y [m, panel outputs] = x [m, panel inputs] W^T of one panel of W, or y += x W^T.
  template <typename T>
  void run(LeftFactor<T>& x, const WeightMatrix<T>& weights, std::int64_t panel, bool accumulate,
           float* y);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace poslens
