#include "poslens/resources.h"

#include <sys/resource.h>

namespace poslens {

std::int64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace poslens
