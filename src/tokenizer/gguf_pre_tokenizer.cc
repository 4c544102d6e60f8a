#include "tokenizer/gguf_pre_tokenizer.h"

#include <algorithm>

#include "tokenizer/pipeline.h"

namespace poslens {
namespace {

// Llama 3's, which Qwen 2 took over with single digits.
#define LLAMA3(DIGITS)                                                 \
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" DIGITS \
  "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
constexpr std::string_view kLlama3 = LLAMA3("\\p{N}{1,3}");
constexpr std::string_view kQwen2 = LLAMA3("\\p{N}");
#undef LLAMA3
constexpr std::string_view kDigit = "\\p{N}";
constexpr std::string_view kBloom = " ?[^(\\s|.,!?…。，、।۔،)]+";

constexpr GgufPreTokenizer kGpt2Rules = {{kGpt2Pattern}, false, false, false};
constexpr GgufPreTokenizer kLlama3Rules = {{kLlama3}, false, true, true};
constexpr GgufPreTokenizer kDbrxRules = {{kLlama3}, false, false, false};
constexpr GgufPreTokenizer kQwen2Rules = {{kQwen2}, true, false, false};
constexpr GgufPreTokenizer kDigitsRules = {{kDigit, kGpt2Pattern}, false, false, false};
constexpr GgufPreTokenizer kFalconRules = {
    {"[\\p{P}\\$\\+<=>\\^~\\|`]+", kGpt2Pattern, "[0-9][0-9][0-9]"}, false, false, false};
constexpr GgufPreTokenizer kBloomRules = {{kBloom}, false, false, false};

struct Named {
  std::string_view name;
  const GgufPreTokenizer& rules;
};
// As llama.cpp assigns them (src/llama-vocab.cpp).
constexpr Named kKnown[] = {
    {"gpt-2", kGpt2Rules},       {"gpt2", kGpt2Rules},     {"phi-2", kGpt2Rules},
    {"llama-bpe", kLlama3Rules}, {"llama3", kLlama3Rules}, {"llama-v3", kLlama3Rules},
    {"falcon3", kLlama3Rules},   {"dbrx", kDbrxRules},     {"smaug-bpe", kDbrxRules},
    {"qwen2", kQwen2Rules},      {"smollm", kDigitsRules}, {"starcoder", kDigitsRules},
    {"refact", kDigitsRules},    {"falcon", kFalconRules}, {"bloom", kBloomRules},
};

}  // namespace

const GgufPreTokenizer* find_gguf_pre_tokenizer(std::string_view name) {
  const auto* found = std::ranges::find(kKnown, name, &Named::name);
  return found == std::end(kKnown) ? nullptr : &found->rules;
}

std::string known_gguf_pre_tokenizers() {
  std::string names;
  for (const Named& known : kKnown) names.append(names.empty() ? "" : ", ").append(known.name);
  return names;
}

}  // namespace poslens
