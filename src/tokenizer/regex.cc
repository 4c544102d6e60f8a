#include "tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "poslens/error.h"

namespace poslens {
namespace {

template <auto release>
struct Releaser {
  template <typename T>
  void operator()(T* object) const {
    release(object);
  }
};
using Match = std::unique_ptr<pcre2_match_data, Releaser<pcre2_match_data_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Releaser<pcre2_match_context_free>>;
using CompileContext = std::unique_ptr<pcre2_compile_context, Releaser<pcre2_compile_context_free>>;

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

std::string message_of(int error) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(error, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

// Grows with the text: going back over a long run of white space counts against it, and is linear.
std::uint32_t match_limit(std::size_t text_bytes) {
  constexpr std::size_t kLeast = 10'000'000;
  constexpr std::size_t kPerByte = 64;
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(
      std::min(kLeast + kPerByte * std::min(text_bytes, kMost / kPerByte), kMost));
}

}  // namespace

struct Regex::Code {
  std::unique_ptr<pcre2_code, Releaser<pcre2_code_free>> pattern;
};

Regex::Regex(std::string_view oniguruma) : code_(std::make_unique<Code>()) {
  const std::string pattern = translate_regex(oniguruma);
  const CompileContext context(pcre2_compile_context_create(nullptr));
  if (!context) throw std::bad_alloc();
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_->pattern.reset(pcre2_compile(units(pattern), pattern.size(), PCRE2_UTF | PCRE2_MULTILINE,
                                     &error, &offset, context.get()));
  if (!code_->pattern) throw Error(message_of(error));
  // Where there is no just-in-time compiler the pattern is interpreted: slower, the same matches.
  pcre2_jit_compile(code_->pattern.get(), PCRE2_JIT_COMPLETE);
  const Match match(pcre2_match_data_create_from_pattern(code_->pattern.get(), nullptr));
  if (!match) throw std::bad_alloc();
  if (pcre2_match(code_->pattern.get(), units(""), 0, 0, 0, match.get(), nullptr) >= 0) {
    throw Error("matches the empty text");
  }
}

Regex::~Regex() = default;

void Regex::find_all(std::string_view text, const std::function<void(Range)>& visit) const {
  const Match match(pcre2_match_data_create_from_pattern(code_->pattern.get(), nullptr));
  const MatchContext context(pcre2_match_context_create(nullptr));
  if (!match || !context) throw std::bad_alloc();
  pcre2_set_match_limit(context.get(), match_limit(text.size()));
  for (std::size_t start = 0; start < text.size();) {
    const auto look = [&](std::uint32_t options) {
      return pcre2_match(code_->pattern.get(), units(text), text.size(), start,
                         PCRE2_NO_UTF_CHECK | options, match.get(), context.get());
    };
    int result = look(0);
    // The interpreter keeps on the heap what the compiled pattern has no stack for.
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = look(PCRE2_NO_JIT);
    if (result == PCRE2_ERROR_NOMATCH) return;
    if (result < 0) {
      throw Error(fmt::format("text: cannot be cut into words from byte {} on: {}", start,
                              message_of(result)));
    }
    const PCRE2_SIZE* found = pcre2_get_ovector_pointer(match.get());
    if (found[1] <= found[0]) {
      throw Error(
          fmt::format("text: the pre-tokenizer's pattern matches nothing at byte {}", found[0]));
    }
    visit({found[0], found[1]});
    start = found[1];
  }
}

}  // namespace poslens
