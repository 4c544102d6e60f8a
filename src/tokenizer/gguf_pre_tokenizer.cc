#include "tokenizer/gguf_pre_tokenizer.h"

#include <algorithm>

namespace poslens {
namespace {

#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
// Llama 3's, which others took over with single digits.
#define LLAMA3(DIGITS)                                 \
  CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" DIGITS \
              "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
constexpr std::string_view kLlama3 = LLAMA3("\\p{N}{1,3}");
constexpr std::string_view kQwen2 = LLAMA3("\\p{N}");
#undef LLAMA3
// GPT-4o's, which cuts between small letters and capitals; Mistral's Tekken without contractions.
#define CAPITAL "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define SMALL "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED(AFTER, DIGITS)                                                                       \
  "[^\\r\\n\\p{L}\\p{N}]?" CAPITAL "*" SMALL "+" AFTER "|[^\\r\\n\\p{L}\\p{N}]?" CAPITAL "+" SMALL \
  "*" AFTER "|" DIGITS "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
constexpr std::string_view kGpt4o = CASED(CONTRACTION "?", "\\p{N}{1,3}");
constexpr std::string_view kTekken = CASED("", "\\p{N}");
#undef CASED
#undef SMALL
#undef CAPITAL
#undef CONTRACTION
constexpr std::string_view kDigit = "\\p{N}";
constexpr std::string_view kBloom = " ?[^(\\s|.,!?…。，、।۔،)]+";

// patterns, byte_patterns, composes, prefers_whole, adds_bos
constexpr GgufPreTokenizer kGpt2Rules = {{kGpt2Pattern}, {}, false, false, false};
constexpr GgufPreTokenizer kNeoXRules = {{kGpt2Pattern}, {}, true, false, false};
constexpr GgufPreTokenizer kLlama3Rules = {{kLlama3}, {}, false, true, true};
constexpr GgufPreTokenizer kDbrxRules = {{kLlama3}, {}, false, false, false};
constexpr GgufPreTokenizer kQwen2Rules = {{kQwen2}, {}, true, false, false};
constexpr GgufPreTokenizer kGpt4oRules = {{kGpt4o}, {}, false, false, false};
constexpr GgufPreTokenizer kTekkenRules = {{kTekken}, {}, false, true, true};
constexpr GgufPreTokenizer kDigitsRules = {{kDigit, kGpt2Pattern}, {}, false, false, false};
constexpr GgufPreTokenizer kCommandRules = {{kDigit, kGpt2Pattern}, {}, true, false, false};
constexpr GgufPreTokenizer kFalconRules = {{"[\\p{P}\\$\\+<=>\\^~\\|`]+", kGpt2Pattern},
                                           {"\\p{N}+", "[0-9][0-9][0-9]"},
                                           false,
                                           false,
                                           false};
constexpr GgufPreTokenizer kBloomRules = {{kBloom}, {}, false, false, false};

struct Named {
  std::string_view name;
  const GgufPreTokenizer& rules;
};
// The names are llama.cpp's converter's (src/llama-vocab.cpp says which mean the same), the rules
// those of the models' own tokenizers. OLMo 1 and MPT have GPT-NeoX's tokenizer, OLMo 2 and Phi-4
// have dbrx's, Phi-4-mini has GPT-4o's.
constexpr Named kKnown[] = {
    {"gpt-2", kGpt2Rules},
    {"gpt2", kGpt2Rules},
    {"phi-2", kGpt2Rules},
    {"olmo", kNeoXRules},
    {"mpt", kNeoXRules},
    {"llama-bpe", kLlama3Rules},
    {"llama3", kLlama3Rules},
    {"llama-v3", kLlama3Rules},
    {"falcon3", kLlama3Rules},
    {"dbrx", kDbrxRules},
    {"smaug-bpe", kDbrxRules},
    {"qwen2", kQwen2Rules},
    {"deepseek-r1-qwen", kQwen2Rules},
    {"stablelm2", kQwen2Rules},
    {"gpt-4o", kGpt4oRules},
    {"llama4", kGpt4oRules},
    {"tekken", kTekkenRules},
    {"smollm", kDigitsRules},
    {"starcoder", kDigitsRules},
    {"refact", kDigitsRules},
    {"command-r", kCommandRules},
    {"falcon", kFalconRules},
    {"bloom", kBloomRules},
};

}  // namespace

std::vector<PreTokenizerStep> pre_tokenizer_steps(const GgufPreTokenizer& rules) {
  std::vector<PreTokenizerStep> steps;
  const auto isolate = [&](const auto& patterns) {
    for (const std::string_view pattern : patterns) {
      if (!pattern.empty()) steps.push_back(isolate_step(pattern));
    }
  };
  isolate(rules.patterns);
  steps.push_back(byte_characters_step());
  isolate(rules.byte_patterns);
  return steps;
}

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
