#include "poslens/tokenizer.h"

#include <string_view>

#include "fuzz/entries.h"
#include "poslens/error.h"

namespace poslens::fuzz {

// What a tokenizer that was accepted makes of a text must decode, and its ids be in range.
void tokenizer(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  // As tokenizer_config.json too: only what is in both is read from it.
  for (const std::string_view config : {std::string_view(), text}) {
    try {
      const auto accepted = Tokenizer::from_json(text, config, "tokenizer.json");
      for (const SpecialTokens special : {SpecialTokens::as_text, SpecialTokens::recognised}) {
        for (const char* sample : {"", "ab a", " The fox's 12\n\n\t<s>日本é\u0301🙂"}) {
          accepted->decode(accepted->encode(sample, special));
        }
      }
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the answer to a bad file
    }
  }
}

}  // namespace poslens::fuzz
