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

// Whether a special token that is written out in a text, "<|endoftext|>", say, becomes that token,
// as in transformers, or its letters, as in transformers with split_special_tokens.
enum class SpecialTokens { as_text, recognised };

// What the file says about the tokens around a document.
struct BosRule {
  std::optional<std::int32_t> bos;
  std::optional<std::int32_t> eos;
  bool adds_bos = false;  // in front; then there is one
  bool adds_eos = false;  // behind, where sequences are cut off; then there is one
  std::string source{};   // what said so: "tokenizer.ggml.add_bos_token", say
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // The tokenizer of a model: of a GGUF file's metadata, or tokenizer.json in its folder. Throws
  // Error saying why there is none that can be used: a wrong guess would change ids.
  static std::unique_ptr<Tokenizer> open(const Checkpoint& checkpoint);

  // tokenizer.ggml.*: byte-level BPE ("gpt2") whose pre-tokenizer is known, or SentencePiece's BPE
  // with scores ("llama").
  static std::unique_ptr<Tokenizer> from_gguf(const Checkpoint& checkpoint);

  // The text of tokenizer.json, of model type BPE, and of tokenizer_config.json, which may be empty
  // (no such file); `file` names the first in messages. Every step of the file that is not
  // supported is an Error naming it and those that are.
  static std::unique_ptr<Tokenizer> from_json(std::string_view json, std::string_view config_json,
                                              const std::string& file);

  // Ids without BOS or EOS. Added tokens that are not special (GGUF: user-defined ones, token_type
  // 4) are always looked for. Characters that the vocabulary lacks are left out unless the file
  // names a token for them. All of this is what Hugging Face's tokenizers do. The text must be
  // UTF-8: throws Error with the offset of the first bad byte. Safe to call from several threads.
  virtual std::vector<std::int32_t> encode(
      std::string_view text, SpecialTokens special = SpecialTokens::recognised) const = 0;
  // The bytes that ids stand for; they need not be whole characters. Throws Error on an id outside
  // of the vocabulary.
  virtual std::string decode(const std::vector<std::int32_t>& ids) const = 0;
  // One more than the largest id.
  virtual std::int64_t vocabulary_size() const = 0;
  // "byte-level BPE" or "SentencePiece BPE, byte fallback", say.
  virtual std::string kind() const = 0;
  // What the pre-tokenizer is called in the file.
  virtual std::string pre_tokenizer() const = 0;

  virtual const BosRule& bos_rule() const = 0;
  // The file's policy: add the BOS token in front of every document.
  bool adds_bos() const { return bos_rule().adds_bos; }
  std::optional<std::int32_t> bos() const { return bos_rule().bos; }
};

}  // namespace poslens
