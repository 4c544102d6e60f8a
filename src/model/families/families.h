#pragma once
// The model families there are. A new one is a file beside this one and a line in families.cc.

#include <span>
#include <string_view>

#include "poslens/checkpoint.h"
#include "poslens/model_spec.h"

namespace poslens {

struct Family {
  std::string_view architecture;  // general.architecture of GGUF files
  ModelSpec (*read)(const Checkpoint& checkpoint);
};

std::span<const Family> families();

ModelSpec read_llama(const Checkpoint& checkpoint);

}  // namespace poslens
