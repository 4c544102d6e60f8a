#pragma once
// Text to token ids, exactly as the model's own tokenizer does it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poslens/checkpoint.h"

namespace poslens {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Byte-level BPE from GGUF metadata (tokenizer.ggml.*). Throws Error when the model kind or the
  // pre-tokenizer is missing or unknown, saying which are known: a wrong guess would change ids.
  static std::unique_ptr<Tokenizer> from_gguf(const Checkpoint& checkpoint);

  // Ids without BOS. Special tokens in the text are not recognised: they are text like any other;
  // user-defined ones (token_type 4) are. Bytes that the vocabulary lacks are left out. All of this
  // is what Hugging Face's tokenizers do when told not to look for special tokens. The text must be
  // UTF-8: throws Error with the offset of the first bad byte. Safe to call from several threads.
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  // The bytes that ids stand for; they need not be whole characters. Throws Error on an id outside
  // of the vocabulary.
  virtual std::string decode(const std::vector<std::int32_t>& ids) const = 0;
  virtual std::int64_t vocabulary_size() const = 0;
  // What the pre-tokenizer is called in the file.
  virtual std::string pre_tokenizer() const = 0;

  // The file's policy: add the BOS token in front of every document.
  virtual bool adds_bos() const = 0;
  virtual std::optional<std::int32_t> bos() const = 0;
};

}  // namespace poslens
