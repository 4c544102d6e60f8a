#include "checkpoint/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "poslens/error.h"

namespace poslens {
namespace {

struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) close(value);
  }
};

[[noreturn]] void fail(const std::filesystem::path& path, int code) {
  throw Error(path.string() + ": cannot be read: " + std::generic_category().message(code));
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat status {};
  if (file.value < 0 || fstat(file.value, &status) != 0) fail(path, errno);
  if (!S_ISREG(status.st_mode)) {
    throw Error(path.string() + ": expected a file, found " +
                (S_ISDIR(status.st_mode) ? "a folder" : "a device or pipe"));
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;  // nothing can be mapped; bytes() stays empty
  void* start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value, 0);
  if (start == MAP_FAILED) fail(path, errno);
  bytes_ = {static_cast<const std::byte*>(start), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace poslens
