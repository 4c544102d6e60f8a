#pragma once
// Working memory of the decoder.

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

namespace poslens {

// Elements at an address that is a multiple of 64, the width of a cache line and of a vector.
template <typename T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(std::size_t size) { resize(size); }

  // Zeros when the size changes; what was there otherwise.
  void resize(std::size_t size) {
    if (size == size_) return;
    values_.reset();
    size_ = 0;
    values_.reset(static_cast<T*>(operator new(size * sizeof(T), kAlignment)));
    size_ = size;
    if (size > 0) std::memset(values_.get(), 0, size * sizeof(T));
  }

  T* data() { return values_.get(); }
  const T* data() const { return values_.get(); }
  std::size_t size() const { return size_; }
  std::span<T> all() { return {data(), size_}; }
  std::span<const T> all() const { return {data(), size_}; }
  std::span<T> part(std::size_t first, std::size_t count) { return {data() + first, count}; }
  std::span<const T> part(std::size_t first, std::size_t count) const {
    return {data() + first, count};
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Delete {
    void operator()(T* values) const { operator delete(values, kAlignment); }
  };
  std::unique_ptr<T, Delete> values_;
  std::size_t size_ = 0;
};

}  // namespace poslens
