#pragma once
// NumPy's .npz archives: named arrays, and texts beside them.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace poslens {

enum class ArrayType { f32, f64, i32, i64 };
std::size_t element_size(ArrayType type);

// An array to be written: a view of row-major values.
struct ArrayRef {
  std::string name;
  ArrayType type;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

ArrayRef array_ref(std::string name, std::vector<std::int64_t> shape,
                   std::span<const float> values);
ArrayRef array_ref(std::string name, std::vector<std::int64_t> shape,
                   std::span<const double> values);
ArrayRef array_ref(std::string name, std::vector<std::int64_t> shape,
                   std::span<const std::int32_t> values);
ArrayRef array_ref(std::string name, std::vector<std::int64_t> shape,
                   std::span<const std::int64_t> values);

// Writes the arrays as NAME.npy and the texts under their own names, deflated, to a temporary file
// that is renamed to path. Throws Error when it cannot be written.
void write_npz(const std::filesystem::path& path, const std::vector<ArrayRef>& arrays,
               const std::map<std::string, std::string>& texts);

// An array that was read; row-major.
struct Array {
  ArrayType type = ArrayType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  // The values, when they are of type T. Throws std::logic_error otherwise.
  template <typename T>
  std::vector<T> values() const;
};

struct NpzContents {
  std::map<std::string, Array> arrays;       // without .npy
  std::map<std::string, std::string> texts;  // every other entry
};

// Reads a whole archive. Throws Error naming file and entry when it is damaged, of an unsupported
// type, in Fortran order, or larger than its header says it can be.
NpzContents read_npz(const std::filesystem::path& path);

}  // namespace poslens
