#pragma once
// Views of dense row-major arrays. They own nothing and check nothing in release builds.

#include <cassert>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

namespace poslens {

// rows x columns elements; element (i, j) is data[i * stride + j].
template <typename T>
class MatrixView {
 public:
  MatrixView() = default;
  MatrixView(T* data, std::size_t rows, std::size_t columns)
      : MatrixView(data, rows, columns, columns) {}
  MatrixView(T* data, std::size_t rows, std::size_t columns, std::size_t stride)
      : data_(data), rows_(rows), columns_(columns), stride_(stride) {}
  template <typename U>
  requires(std::is_same_v<const U, T>)
      MatrixView(const MatrixView<U>& other)  // NOLINT(google-explicit-constructor): adding const
      : MatrixView(other.data(), other.rows(), other.columns(), other.stride()) {}

  T& operator()(std::size_t row, std::size_t column) const {
    assert(row < rows_ && column < columns_);
    return data_[row * stride_ + column];
  }
  std::span<T> row(std::size_t index) const { return {data_ + index * stride_, columns_}; }
  T* data() const { return data_; }
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  std::size_t stride() const { return stride_; }

 private:
  T* data_ = nullptr;
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  std::size_t stride_ = 0;
};

// Elements of the lower triangle, diagonal included, of a matrix with that many rows; also the
// place where that row begins when the triangle is stored row after row.
constexpr std::size_t triangle_size(std::size_t rows) { return rows * (rows + 1) / 2; }

// A matrix that owns its elements, value-initialised.
template <typename T>
class Matrix {
 public:
  Matrix() = default;
  Matrix(std::size_t rows, std::size_t columns)
      : rows_(rows), columns_(columns), values_(rows * columns) {}
  // A copy of what a view shows.
  explicit Matrix(MatrixView<const T> view) : rows_(view.rows()), columns_(view.columns()) {
    values_.reserve(rows_ * columns_);
    for (std::size_t i = 0; i < rows_; ++i) {
      values_.insert(values_.end(), view.row(i).begin(), view.row(i).end());
    }
  }

  T& operator()(std::size_t row, std::size_t column) { return values_[row * columns_ + column]; }
  const T& operator()(std::size_t row, std::size_t column) const {
    return values_[row * columns_ + column];
  }
  MatrixView<T> view() { return {values_.data(), rows_, columns_}; }
  MatrixView<const T> view() const { return {values_.data(), rows_, columns_}; }
  std::span<T> row(std::size_t index) { return view().row(index); }
  std::span<const T> row(std::size_t index) const { return view().row(index); }
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  std::vector<T>& values() { return values_; }
  const std::vector<T>& values() const { return values_; }

 private:
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  std::vector<T> values_;
};

}  // namespace poslens
