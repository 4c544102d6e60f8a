#include "model/families/families.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "poslens/error.h"

namespace poslens {
namespace {

constexpr Family kFamilies[] = {
    {"llama", "LlamaForCausalLM", "llama", read_llama},
    {"mistral", "MistralForCausalLM", "", read_mistral},  // as llama in GGUF files
    {"qwen2", "Qwen2ForCausalLM", "qwen2", read_qwen2},
    {"qwen3", "Qwen3ForCausalLM", "qwen3", read_qwen3},
    {"phi", "PhiForCausalLM", "phi2", read_phi},
    {"phi3", "Phi3ForCausalLM", "phi3", read_phi3},
    {"gemma", "GemmaForCausalLM", "gemma", read_gemma},
    {"gemma2", "Gemma2ForCausalLM", "gemma2", read_gemma2},
    {"gemma3_text", "Gemma3ForCausalLM", "gemma3", read_gemma3},
    {"gemma3", "Gemma3ForConditionalGeneration", "", read_gemma3},
    {"olmo", "OlmoForCausalLM", "olmo", read_olmo},
    {"olmo2", "Olmo2ForCausalLM", "olmo2", read_olmo2},
    {"olmo3", "Olmo3ForCausalLM", "", read_olmo3},  // as olmo2 in GGUF files
    {"smollm3", "SmolLM3ForCausalLM", "smollm3", read_smollm3},
    {"gpt_neox", "GPTNeoXForCausalLM", "gptneox", read_gpt_neox},
    {"gpt2", "GPT2LMHeadModel", "gpt2", read_gpt2},
    {"falcon", "FalconForCausalLM", "falcon", read_falcon},
    {"bloom", "BloomForCausalLM", "bloom", read_bloom},
    {"mpt", "MptForCausalLM", "mpt", read_mpt},
    {"stablelm", "StableLmForCausalLM", "stablelm", read_stablelm},
    {"starcoder2", "Starcoder2ForCausalLM", "starcoder2", read_starcoder2},
    {"cohere", "CohereForCausalLM", "command-r", read_cohere},
};

using Member = std::string_view Family::*;

// The family whose member has this value.
const Family& find_family(const Checkpoint& checkpoint, Member member, std::string_view key,
                          const std::string& value) {
  std::vector<std::string_view> known;
  for (const Family& family : kFamilies) {
    if (!value.empty() && family.*member == value) return family;
    if (!(family.*member).empty()) known.push_back(family.*member);
  }
  const std::string expected = fmt::format("one of: {}", fmt::join(known, ", "));
  const std::string found = fmt::format("'{}'", value);
  if (checkpoint.config() != nullptr) checkpoint.config()->fail(key, expected, found);
  throw Error(fmt::format("{}: {}: expected {}; found {}", checkpoint.path().string(), key,
                          expected, found));
}

const Family& family_of(const Checkpoint& checkpoint) {
  const Config* config = checkpoint.config();
  if (config == nullptr) {
    constexpr std::string_view kKey = "general.architecture";
    return find_family(checkpoint, &Family::gguf, kKey, checkpoint.text(kKey));
  }
  if (config->has("model_type") || !config->has("architectures")) {
    return find_family(checkpoint, &Family::model_type, "model_type", config->text("model_type"));
  }
  const std::vector<std::string> classes = config->texts("architectures");
  return find_family(checkpoint, &Family::class_name, "architectures",
                     classes.empty() ? "" : classes.front());
}

}  // namespace

std::span<const Family> families() { return kFamilies; }

ModelSpec read_model_spec(const Checkpoint& checkpoint) {
  const Family& family = family_of(checkpoint);
  Reader reader(checkpoint, checkpoint.config() == nullptr ? family.gguf : family.model_type);
  // Buffers that older files hold beside the parameters.
  reader.ignore_tensors_ending(".rotary_emb.inv_freq");
  ModelSpec spec = family.read(reader);
  spec.first_missing_layer = reader.first_missing_layer();
  reader.finish();
  return spec;
}

}  // namespace poslens
