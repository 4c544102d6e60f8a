#include "tokenizer/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "poslens/error.h"

namespace poslens {
namespace {

// White space as Unicode defines the property; PCRE2's \s has U+180E too.
#define SPACE "\\p{Z}\\t-\\r\\x{85}"

// GPT-2's (Radford et al. 2019, encoder.py).
constexpr char kGpt2[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" SPACE
                         "\\p{L}\\p{N}]+"
                         "|[" SPACE "]+(?![^" SPACE "])|[" SPACE "]+";

// SmolLM first isolates every digit, then cuts what lies between by GPT-2's pattern. In one
// pattern: no digit joins anything, and white space is at the end of its text before a digit too.
constexpr char kSmolLm[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+|\\p{N}| ?[^" SPACE
                           "\\p{L}\\p{N}]+"
                           "|[" SPACE "]+(?![^" SPACE "\\p{N}])|[" SPACE "]+";

// Llama 3's, which Qwen 2 took over with single digits.
#define LLAMA3(DIGITS)                                                               \
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" DIGITS "| ?[^" SPACE \
  "\\p{L}\\p{N}]+[\\r\\n]*|[" SPACE "]*[\\r\\n]+|[" SPACE "]+(?![^" SPACE            \
  "])"                                                                               \
  "|[" SPACE "]+"
constexpr char kLlama3[] = LLAMA3("\\p{N}{1,3}");
constexpr char kQwen2[] = LLAMA3("\\p{N}");
#undef LLAMA3
#undef SPACE

constexpr PreTokenizerRules kGpt2Rules = {kGpt2, false, false, false};
constexpr PreTokenizerRules kLlama3Rules = {kLlama3, false, true, true};
constexpr PreTokenizerRules kQwen2Rules = {kQwen2, true, false, false};
constexpr PreTokenizerRules kSmolLmRules = {kSmolLm, false, false, false};

struct Named {
  std::string_view name;
  const PreTokenizerRules& rules;
};
constexpr Named kKnown[] = {
    {"gpt-2", kGpt2Rules},    {"gpt2", kGpt2Rules},       {"llama-bpe", kLlama3Rules},
    {"llama3", kLlama3Rules}, {"llama-v3", kLlama3Rules}, {"qwen2", kQwen2Rules},
    {"smollm", kSmolLmRules},
};

template <auto release>
struct Releaser {
  template <typename T>
  void operator()(T* object) const {
    release(object);
  }
};
using Match = std::unique_ptr<pcre2_match_data, Releaser<pcre2_match_data_free>>;
using Context = std::unique_ptr<pcre2_match_context, Releaser<pcre2_match_context_free>>;

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

const PreTokenizerRules* find_pre_tokenizer(std::string_view name) {
  const auto* found = std::ranges::find(kKnown, name, &Named::name);
  return found == std::end(kKnown) ? nullptr : &found->rules;
}

std::string known_pre_tokenizers() {
  std::string names;
  for (const Named& known : kKnown) names.append(names.empty() ? "" : ", ").append(known.name);
  return names;
}

void require_utf8(std::string_view text) {
  const auto* at = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (std::size_t offset = 0; offset < text.size();) {
    utf8proc_int32_t character = 0;
    const auto length = utf8proc_iterate(
        at + offset, static_cast<utf8proc_ssize_t>(text.size() - offset), &character);
    if (length <= 0) {
      throw Error("text: expected UTF-8, found another byte sequence at byte " +
                  std::to_string(offset));
    }
    offset += static_cast<std::size_t>(length);
  }
}

std::string compose(std::string_view text) {
  if (is_ascii(text)) return std::string(text);
  utf8proc_uint8_t* result = nullptr;
  const auto length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &result,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  if (length < 0) throw Error(std::string("text: ") + utf8proc_errmsg(length));
  const std::unique_ptr<utf8proc_uint8_t, Releaser<std::free>> owner(result);
  return {reinterpret_cast<const char*>(result), static_cast<std::size_t>(length)};
}

struct PreTokenizer::Code {
  std::unique_ptr<pcre2_code, Releaser<pcre2_code_free>> pattern;
};

PreTokenizer::PreTokenizer(const PreTokenizerRules& rules)
    : rules_(rules), code_(std::make_unique<Code>()) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_->pattern.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(rules.pattern),
                                     PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_ANCHORED, &error,
                                     &offset, nullptr));
  if (!code_->pattern) {
    throw std::logic_error("pre-tokenizer pattern: error " + std::to_string(error) + " at " +
                           std::to_string(offset));
  }
  // Where there is no just-in-time compiler the pattern is interpreted: slower, the same pieces.
  pcre2_jit_compile(code_->pattern.get(), PCRE2_JIT_COMPLETE);
}

PreTokenizer::~PreTokenizer() = default;

void PreTokenizer::split(std::string_view text,
                         const std::function<void(std::string_view)>& visit) const {
  const Match match(pcre2_match_data_create_from_pattern(code_->pattern.get(), nullptr));
  const Context context(pcre2_match_context_create(nullptr));
  if (!match || !context) throw std::bad_alloc();
  // Going back over a long run of white space counts against the limit; it stays linear.
  pcre2_set_match_limit(context.get(), std::numeric_limits<std::uint32_t>::max());
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  for (std::size_t start = 0; start < text.size();) {
    const int result = pcre2_match(code_->pattern.get(), subject, text.size(), start,
                                   PCRE2_NO_UTF_CHECK, match.get(), context.get());
    const std::size_t end = result > 0 ? pcre2_get_ovector_pointer(match.get())[1] : start;
    if (end <= start) {
      throw Error("text: cannot be cut into words at byte " + std::to_string(start) +
                  " (PCRE2 error " + std::to_string(result) + ")");
    }
    visit(text.substr(start, end - start));
    start = end;
  }
}

}  // namespace poslens
