#pragma once
// Tokenizers of GGUF files that a test writes.

#include <memory>
#include <string>

#include "poslens/checkpoint.h"
#include "poslens/error.h"
#include "poslens/tokenizer.h"
#include "support/gguf_writer.h"
#include "support/temporary_folder.h"

namespace poslens::test {

inline std::unique_ptr<Tokenizer> open(const GgufWriter& writer) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "model.gguf").string();
  writer.write(path);
  return Tokenizer::open(*Checkpoint::open(path));
}

// The message of the Error with which the file is refused, or "no error".
inline std::string message(const GgufWriter& writer) {
  try {
    open(writer);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace poslens::test
