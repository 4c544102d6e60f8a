#include "poslens/tokenizer.h"

#include <fstream>
#include <string_view>

#include "fuzz/entries.h"
#include "poslens/error.h"
#include "support/temporary_folder.h"

namespace poslens::fuzz {
namespace {

// What a tokenizer that was accepted makes of a text must decode, and its ids be in range.
void use(const Tokenizer& tokenizer) {
  for (const SpecialTokens special : {SpecialTokens::as_text, SpecialTokens::recognised}) {
    for (const char* sample : {"", "ab a", " The fox's 12\n\n\t<s>日本é\u0301🙂"}) {
      tokenizer.decode(tokenizer.encode(sample, special));
    }
  }
}

}  // namespace

void tokenizer(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  // As tokenizer_config.json too: only what is in both is read from it.
  for (const std::string_view config : {std::string_view(), text}) {
    try {
      use(*Tokenizer::from_json(text, config, "tokenizer.json"));
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the answer to a bad file
    }
  }
}

void gguf_tokenizer(std::span<const std::byte> file) {
  static const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "model.gguf";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), std::ssize(file));
  try {
    use(*Tokenizer::from_gguf(*Checkpoint::open(path)));
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the answer to a bad file
  }
}

}  // namespace poslens::fuzz
