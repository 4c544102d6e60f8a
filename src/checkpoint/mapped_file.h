#pragma once
// A file mapped into memory for reading.

#include <cstddef>
#include <filesystem>
#include <span>

namespace poslens {

// The mapping lives as long as the object. The file must not shrink meanwhile.
class MappedFile {
 public:
  // Throws Error when path is not a file that can be read.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace poslens
