#include "model/families/families.h"

#include <string>

#include "poslens/error.h"

namespace poslens {
namespace {

constexpr Family kFamilies[] = {
    {"llama", read_llama},
};

}  // namespace

std::span<const Family> families() { return kFamilies; }

ModelSpec read_model_spec(const Checkpoint& checkpoint) {
  const std::string architecture = checkpoint.text("general.architecture");
  std::string known;
  for (const Family& family : families()) {
    if (family.architecture == architecture) return family.read(checkpoint);
    known += (known.empty() ? "" : ", ") + std::string(family.architecture);
  }
  throw Error(checkpoint.path().string() + ": general.architecture: expected one of: " + known +
              "; found '" + architecture + "'");
}

}  // namespace poslens
