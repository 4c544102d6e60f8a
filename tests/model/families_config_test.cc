// What the families make of config.json beyond what the golden fixtures hold, and what they refuse.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "poslens/checkpoint.h"
#include "poslens/decoder.h"
#include "poslens/error.h"
#include "poslens/model_spec.h"
#include "support/safetensors_writer.h"
#include "support/temporary_folder.h"

namespace poslens {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Json = nlohmann::json;
namespace fs = std::filesystem;

// A golden folder whose config.json may be changed.
class Folder {
 public:
  explicit Folder(const std::string& name) : path_(copy_.path() / name) {
    fs::copy(fs::path(POSLENS_TEST_DATA) / "golden" / name, path_);
    std::ifstream(path_ / "config.json") >> config;
  }

  ModelSpec read() const {
    std::ofstream(path_ / "config.json") << config;
    return read_model_spec(*Checkpoint::open(path_));
  }

  std::string refusal() const {
    try {
      read();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  const fs::path& path() const { return path_; }

  Json config;

 private:
  TemporaryFolder copy_;
  fs::path path_;
};

// The refusal of a folder whose key has another value.
std::string refusal_with(const std::string& name, const Json::json_pointer& key,
                         const Json& value) {
  Folder folder(name);
  folder.config[key] = value;
  return folder.refusal();
}

Json::json_pointer at(const std::string& path) { return Json::json_pointer(path); }

TEST(FamilyConfig, UnknownTypesAreRefusedWithWhatIsSupported) {
  EXPECT_THAT(refusal_with("llama_yarn", at("/model_type"), "mamba"),
              AllOf(HasSubstr("config.json: model_type: expected one of: llama, mistral, qwen2"),
                    HasSubstr("cohere"), HasSubstr("found 'mamba'")));
  EXPECT_THAT(refusal_with("llama_yarn", at("/rope_parameters/rope_type"), "axial"),
              AllOf(HasSubstr("rope_parameters.rope_type: expected default, linear, dynamic"),
                    HasSubstr("found 'axial'")));
  EXPECT_THAT(refusal_with("llama_yarn", at("/hidden_act"), "relu6"),
              AllOf(HasSubstr("hidden_act: expected silu, swish, gelu"), HasSubstr("'relu6'")));
  EXPECT_THAT(refusal_with("qwen3_layer_types", at("/layer_types/1"), "chunked_attention"),
              AllOf(HasSubstr("expected full_attention or sliding_attention"),
                    HasSubstr("'chunked_attention'")));
}

TEST(FamilyConfig, TheClassStandsInForAMissingType) {
  Folder folder("llama_yarn");
  folder.config.erase("model_type");
  EXPECT_EQ(folder.read().family, "llama");
  folder.config["architectures"] = {"LlamaForSequenceClassification"};
  EXPECT_THAT(folder.refusal(), HasSubstr("architectures: expected one of: LlamaForCausalLM"));
  folder.config.erase("architectures");
  EXPECT_THAT(folder.refusal(), HasSubstr("model_type"));
}

TEST(FamilyConfig, TensorsAreAllAccountedFor) {
  // A bias in the file that the config does not speak of.
  EXPECT_THAT(refusal_with("llama_llama3", at("/mlp_bias"), false),
              HasSubstr("mlp.down_proj.bias: not a part of the llama model"));
  EXPECT_THAT(refusal_with("llama_llama3", at("/num_hidden_layers"), 2),
              HasSubstr("model.layers.2."));
  EXPECT_THAT(refusal_with("llama_llama3", at("/tie_word_embeddings"), false),
              HasSubstr("lm_head.weight"));
  // head_dim is no quotient.
  Folder folder("llama_llama3");
  folder.config.erase("head_dim");
  EXPECT_THAT(folder.refusal(), AllOf(HasSubstr("q_proj.weight"), HasSubstr("24")));
  EXPECT_THAT(refusal_with("llama_llama3", at("/num_key_value_heads"), 3),
              HasSubstr("num_key_value_heads: expected a divisor of 4, found 3"));
}

TEST(FamilyConfig, WholeLayersMayBeMissingAtTheEnd) {
  Folder folder("llama_llama3");
  EXPECT_EQ(folder.read().first_missing_layer, std::nullopt);
  folder.config["num_hidden_layers"] = 5;
  const ModelSpec spec = folder.read();
  EXPECT_EQ(spec.first_missing_layer, 3);
  EXPECT_THAT(describe(spec), HasSubstr("ends with layer 2"));
  const auto checkpoint = Checkpoint::open(folder.path());
  const TokenBatch batch{4, {1, 2, 3, 4}};
  DecoderOptions options;
  options.layers = {0, 1, 2};
  EXPECT_EQ(run_decoder(*checkpoint, spec, batch, options).layers, options.layers);
  options.layers.push_back(3);
  try {
    run_decoder(*checkpoint, spec, batch, options);
    FAIL() << "ran a layer that is not in the file";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "--layers 3: the model's file ends with layer 2");
  }
}

TEST(FamilyConfig, AHeadThatIsTiedAndStoredIsNotUsed) {
  Folder folder("llama_yarn");  // with a head of its own
  folder.config["tie_word_embeddings"] = true;
  EXPECT_EQ(folder.read().head.weight, "model.embed_tokens.weight");
}

TEST(FamilyConfig, NullIsNotAbsent) {
  const auto window = [](const Folder& folder) { return folder.read().layers[0].attention.mask; };
  Folder mistral("mistral_window");
  mistral.config["sliding_window"] = nullptr;
  EXPECT_EQ(window(mistral), Mask::parse("causal"));
  mistral.config.erase("sliding_window");
  EXPECT_EQ(window(mistral), Mask::parse("window:4096"));

  Folder gemma("gemma2_caps");
  gemma.config["attn_logit_softcapping"] = nullptr;
  EXPECT_EQ(gemma.read().layers[0].attention.softcap, 0);
  gemma.config.erase("attn_logit_softcapping");
  gemma.config.erase("final_logit_softcapping");
  EXPECT_EQ(gemma.read().layers[0].attention.softcap, 50);
  EXPECT_EQ(gemma.read().logit_softcap, 30);

  Folder llama("llama_dynamic");  // as many key-value heads as heads
  llama.config["num_key_value_heads"] = nullptr;
  EXPECT_EQ(llama.read().layers[0].attention.key_value_heads, 4);
}

TEST(FamilyConfig, RopeScalingWinsOverRopeParameters) {
  Folder folder("llama_llama3");
  folder.config["rope_scaling"] = {{"type", "linear"}, {"factor", 3.0}};
  folder.config["rope_theta"] = 77.0;
  const AttentionSpec attention = folder.read().layers[0].attention;
  EXPECT_EQ(attention.rope_scaling, RopeScaling::parse("linear:3"));
  EXPECT_EQ(attention.rotary->theta, 77);
}

TEST(FamilyConfig, OriginalLengthsStandBesideTheDictOrInIt) {
  const auto original = [](const Folder& folder) {
    return folder.read().layers[0].attention.rope_scaling.original;
  };
  Folder llama("llama_llama3");
  EXPECT_EQ(original(llama), 24);
  llama.config["original_max_position_embeddings"] = 40;
  EXPECT_EQ(original(llama), 40);
  llama.config.erase("original_max_position_embeddings");
  llama.config["rope_parameters"].erase("original_max_position_embeddings");
  EXPECT_EQ(original(llama), 64);  // max_position_embeddings
  Folder phi("phi3_long");
  phi.config.erase("original_max_position_embeddings");
  EXPECT_EQ(original(phi), 4096);  // its class's default
}

TEST(FamilyConfig, ScalingsNeedTheirKeys) {
  const auto without = [](const char* name, const char* key) {
    Folder folder(name);
    folder.config["rope_parameters"].erase(key);
    return folder.refusal();
  };
  EXPECT_THAT(without("llama_llama3", "factor"), HasSubstr("rope_parameters.factor"));
  EXPECT_THAT(without("llama_llama3", "low_freq_factor"), HasSubstr("low_freq_factor"));
  EXPECT_THAT(without("phi3_long", "long_factor"), HasSubstr("long_factor"));
  EXPECT_THAT(refusal_with("phi3_long", at("/rope_parameters/short_factor"), {1.0, 2.0}),
              HasSubstr("short_factor: expected 3 numbers, one for each pair, found 2"));
  EXPECT_THAT(refusal_with("llama_llama3", at("/rope_parameters/factor"), 0.0),
              HasSubstr("rope_parameters.factor: expected a number from"));
  EXPECT_THAT(refusal_with("llama_llama3", at("/rope_parameters/partial_rotary_factor"), 0.5),
              HasSubstr("this family rotates whole heads"));
}

TEST(FamilyConfig, ImpossibleNumbersOfRotationsAreRefused) {
  const auto refused = [](const char* name, const char* key, double value) {
    return refusal_with(name, at(std::string("/rope_parameters/") + key), value);
  };
  EXPECT_THAT(refused("phi_plain", "partial_rotary_factor", 1e300),
              HasSubstr("an even rotary dimension from 2 to 6"));
  EXPECT_THAT(refused("phi_plain", "partial_rotary_factor", 0), HasSubstr("found 0"));
  EXPECT_THAT(refused("llama_yarn", "rope_theta", 1), HasSubstr("more than 1 for yarn"));
  EXPECT_THAT(refused("llama_yarn", "rope_theta", -5), HasSubstr("rope_theta: expected a number"));
  EXPECT_THAT(refused("llama_yarn", "original_max_position_embeddings", 0),
              HasSubstr("original_max_position_embeddings: expected a number from 1"));
  EXPECT_THAT(refused("llama_llama3", "high_freq_factor", 1.5),
              HasSubstr("high_freq_factor: expected more than low_freq_factor"));
  EXPECT_THAT(refusal_with("phi3_long", at("/original_max_position_embeddings"), 1),
              HasSubstr("expected a number from 2"));
  EXPECT_THAT(refusal_with("llama_dynamic", at("/max_position_embeddings"), 0),
              HasSubstr("max_position_embeddings"));
}

TEST(FamilyConfig, UnsupportedVariantsAreRefused) {
  EXPECT_THAT(refusal_with("mpt_clip", at("/attn_config/qk_ln"), true),
              HasSubstr("attn_config.qk_ln: expected false, found true"));
  EXPECT_THAT(refusal_with("mpt_clip", at("/attn_config/prefix_lm"), true),
              HasSubstr("attn_config.prefix_lm"));
  EXPECT_THAT(refusal_with("mpt_clip", at("/attn_config/attn_type"), "multiquery_attention"),
              HasSubstr("attn_config.attn_type: expected multihead_attention"));
  EXPECT_THAT(refusal_with("falcon_groups", at("/parallel_attn"), false),
              HasSubstr("parallel_attn: expected true"));
  EXPECT_THAT(refusal_with("falcon_multi_query", at("/num_ln_in_parallel_attn"), 2),
              HasSubstr("num_ln_in_parallel_attn"));
  EXPECT_THAT(refusal_with("gemma3_text", at("/use_bidirectional_attention"), true),
              HasSubstr("use_bidirectional_attention"));
  EXPECT_THAT(refusal_with("gpt2_plain", at("/n_positions"), 65),
              AllOf(HasSubstr("wpe.weight"), HasSubstr("65")));
}

// gemma-3-4b's text_config leaves out what its class has by default.
TEST(FamilyConfig, Gemma3TakesItsClassesDefaults) {
  Folder folder("gemma3_nested");
  Json& text = folder.config["text_config"];
  for (const char* key : {"num_attention_heads", "num_key_value_heads", "head_dim"}) {
    text.erase(key);
  }
  // 8 heads of 256: other shapes than the file's, which the message names.
  EXPECT_THAT(folder.refusal(), HasSubstr("2048"));
  Folder thetas("gemma3_nested");
  thetas.config["text_config"].erase("rope_parameters");
  const ModelSpec spec = thetas.read();
  EXPECT_EQ(spec.layers[0].attention.rotary->theta, 1e4);
  EXPECT_EQ(spec.layers[2].attention.rotary->theta, 1e6);
  EXPECT_EQ(spec.logit_softcap, 0);
}

// Writes the folder's weights anew as zeros, of a type and with shapes that may be others.
void rewrite(const Folder& folder, const std::string& type,
             const std::map<std::string, std::vector<std::uint64_t>>& shapes = {}) {
  SafetensorsWriter writer;
  {
    const auto checkpoint = Checkpoint::open(folder.path());
    for (const TensorEntry& tensor : checkpoint->tensors()) {
      std::vector<std::uint64_t> shape(tensor.shape.begin(), tensor.shape.end());
      if (const auto other = shapes.find(tensor.name); other != shapes.end()) shape = other->second;
      std::size_t bytes = type == "F32" ? 4 : 2;
      for (const std::uint64_t extent : shape) bytes *= extent;
      writer.tensor(tensor.name, type, shape, std::string(bytes, '\0'));
    }
  }
  writer.write(folder.path() / "model.safetensors");
}

// The root of the hidden size, 4.898979 here, is rounded to the type of the weights: to multiples
// of 2^-5 in bf16 and of 2^-8 in f16.
TEST(FamilyConfig, GemmasEmbeddingScale) {
  for (const auto& [type, expected] :
       {std::pair("F32", 4.898979), std::pair("BF16", 4.90625), std::pair("F16", 4.8984375)}) {
    for (const char* name : {"gemma_legacy_gelu", "gemma2_caps", "gemma3_text"}) {
      const Folder folder(name);
      rewrite(folder, type);
      EXPECT_NEAR(folder.read().embedding_scale, expected, 1e-6) << name << ' ' << type;
    }
  }
}

TEST(FamilyConfig, NormsOfQueryAndKeyHaveTheWidthOfTheirFamily) {
  const auto refusal = [](const char* name, const char* norm, std::uint64_t width) {
    const Folder folder(name);
    const std::string tensor = std::string("model.layers.0.self_attn.") + norm + ".weight";
    rewrite(folder, "F16", {{tensor, {width}}});
    return folder.refusal();
  };
  EXPECT_THAT(refusal("qwen3_tied", "q_norm", 32),  // of all heads, not of one
              AllOf(HasSubstr("q_norm.weight"), HasSubstr("[8]"), HasSubstr("[32]")));
  EXPECT_THAT(refusal("olmo2_biases", "k_norm", 6),  // of one head, not of all
              AllOf(HasSubstr("k_norm.weight"), HasSubstr("[12]"), HasSubstr("[6]")));
}

}  // namespace
}  // namespace poslens
