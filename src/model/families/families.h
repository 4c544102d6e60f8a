#pragma once
// The model families there are. A new one is a file beside this one and a line here and in
// families.cc; docs/adding-a-family.md walks through it.

#include <span>
#include <string_view>

#include "model/families/reader.h"
#include "poslens/model_spec.h"

namespace poslens {

struct Family {
  std::string_view model_type;  // of config.json
  std::string_view class_name;  // of its "architectures", where there is no model_type
  std::string_view gguf;        // general.architecture of GGUF files; empty: there are none
  ModelSpec (*read)(Reader& reader);
};

std::span<const Family> families();

ModelSpec read_bloom(Reader& reader);
ModelSpec read_cohere(Reader& reader);
ModelSpec read_falcon(Reader& reader);
ModelSpec read_gemma(Reader& reader);
ModelSpec read_gemma2(Reader& reader);
ModelSpec read_gemma3(Reader& reader);
ModelSpec read_gpt2(Reader& reader);
ModelSpec read_gpt_neox(Reader& reader);
ModelSpec read_llama(Reader& reader);
ModelSpec read_mistral(Reader& reader);
ModelSpec read_mpt(Reader& reader);
ModelSpec read_olmo(Reader& reader);
ModelSpec read_olmo2(Reader& reader);
ModelSpec read_olmo3(Reader& reader);
ModelSpec read_phi(Reader& reader);
ModelSpec read_phi3(Reader& reader);
ModelSpec read_qwen2(Reader& reader);
ModelSpec read_qwen3(Reader& reader);
ModelSpec read_smollm3(Reader& reader);
ModelSpec read_stablelm(Reader& reader);
ModelSpec read_starcoder2(Reader& reader);

}  // namespace poslens
