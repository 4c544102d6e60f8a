#pragma once
// Regular expressions as tokenizer.json has them. Hugging Face's tokenizers give them to Oniguruma
// (Ruby's syntax); here they are translated for PCRE2, class by class, so that both match the same.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace poslens {

// The same expression in PCRE2's syntax (UTF, multi-line). Throws Error with the reason and the
// byte when it has a construct that is not known to mean the same.
std::string translate_regex(std::string_view oniguruma);

class Regex {
 public:
  // Throws Error that says what is wrong; an expression that matches nothing at all, "", is wrong.
  explicit Regex(std::string_view oniguruma);
  ~Regex();

  struct Range {
    std::size_t start;
    std::size_t end;
  };
  // Calls visit with each match in the UTF-8 text, from left to right; they do not overlap. Throws
  // Error when one is empty or the expression goes back and forth too often.
  void find_all(std::string_view text, const std::function<void(Range)>& visit) const;

 private:
  struct Code;
  std::unique_ptr<Code> code_;
};

}  // namespace poslens
