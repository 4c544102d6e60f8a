// Texts through the tokenizers of Hugging Face folders, end to end. The expected ids are those of
// Hugging Face's tokenizers (tools/golden/tokenizer_json.py).

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <stdlib.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "poslens/random.h"
#include "poslens/score_map.h"
#include "support/safetensors_writer.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

constexpr int kVocabulary = 800;  // room for every fixture's tokens
constexpr int kHidden = 16;
constexpr std::size_t kTextNumber = 39;  // of the fixtures' texts: "foo_bar camelCase …"

nlohmann::json read_fixture(const std::string& name) {
  std::ifstream file(fs::path(POSLENS_SOURCE) / "tests/tokenizer/json" / name);
  return nlohmann::json::parse(file);
}

class Text : public ProgramTest {
 protected:
  // A Llama of one layer with random weights in the folder `name`.
  fs::path add_model(const std::string& name) {
    fs::path folder = path(name);
    fs::create_directories(folder);
    const nlohmann::json config = {{"model_type", "llama"},         {"vocab_size", kVocabulary},
                                   {"hidden_size", kHidden},        {"intermediate_size", 24},
                                   {"num_hidden_layers", 1},        {"num_attention_heads", 2},
                                   {"rms_norm_eps", 1e-5},          {"rope_theta", 1e4},
                                   {"max_position_embeddings", 64}, {"tie_word_embeddings", true}};
    std::ofstream(folder / "config.json") << config;
    SafetensorsWriter weights;
    RandomStream random(3, 1);
    const auto add = [&](const std::string& tensor, const std::vector<std::uint64_t>& shape) {
      std::vector<float> values(shape.size() == 2 ? shape[0] * shape[1] : shape[0]);
      for (float& value : values) value = static_cast<float>(random.normal() / 4);
      weights.tensor(tensor, shape, values);
    };
    add("model.embed_tokens.weight", {kVocabulary, kHidden});
    add("model.norm.weight", {kHidden});
    const std::string layer = "model.layers.0.";
    add(layer + "input_layernorm.weight", {kHidden});
    add(layer + "post_attention_layernorm.weight", {kHidden});
    for (const char* projection : {"q", "k", "v", "o"}) {
      add(fmt::format("{}self_attn.{}_proj.weight", layer, projection), {kHidden, kHidden});
    }
    add(layer + "mlp.gate_proj.weight", {24, kHidden});
    add(layer + "mlp.up_proj.weight", {24, kHidden});
    add(layer + "mlp.down_proj.weight", {kHidden, 24});
    weights.write((folder / "model.safetensors").string());
    return folder;
  }
  void add_tokenizer(const fs::path& folder, const std::string& fixture) {
    std::ofstream(folder / "tokenizer.json") << read_fixture(fixture + ".json");
  }

  // The text, and four rows of eight of its ids behind what is put in front, as `--tokens` takes
  // them.
  void write_text(const std::string& in_front = "") {
    const auto texts = read_fixture("texts.json").at("texts");
    write("book.txt", in_front + texts.at(kTextNumber).get<std::string>());
  }
  void write_ids(const std::string& fixture, const Ids& front) {
    const auto all = read_fixture(fixture + ".ids.json").at("recognised");
    const Ids ids = all.at(kTextNumber);
    std::vector<Ids> rows(4, front);
    auto id = ids.begin();
    for (Ids& row : rows) {
      while (row.size() < 8) row.push_back(*id++);
    }
    write("ids.json", nlohmann::json{{"tokens", rows}}.dump());
  }

  Outcome probe(const std::string& model, const std::string& corpus,
                const std::string& intervention = "") {
    std::vector<std::string> arguments = {
        "probe",    model,   corpus,         path(corpus == "--text" ? "book.txt" : "ids.json"),
        "--length", "8",     "--sequences",  "4",
        "--force",  "--out", path("map.npz")};
    if (!intervention.empty()) {
      arguments.insert(arguments.end(), {"--intervene", intervention});
    }
    return run_program(arguments);
  }
  Provenance provenance(const std::string& model, const std::string& corpus,
                        const std::string& intervention = "") {
    const Outcome outcome = probe(model, corpus, intervention);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return load_score_map(path("map.npz")).provenance;
  }
};

TEST_F(Text, IdsAndBosAreThoseOfTheFoldersTokenizer) {
  struct Case {
    const char* fixture;
    const char* bos_text;
    std::int32_t bos;
    bool adds_bos;
  };
  const std::string model = add_model("model").string();
  for (const Case& c :
       {Case{"llama2", "<s>", 0, true}, Case{"llama3", "<|begin_of_text|>", 0, true},
        Case{"gpt2", "<|endoftext|>", 0, false}}) {
    SCOPED_TRACE(c.fixture);
    add_tokenizer(model, c.fixture);
    std::ofstream(path("model") / "tokenizer_config.json")
        << nlohmann::json{{"bos_token", c.bos_text}};
    write_ids(c.fixture, {});
    const std::string plain = provenance(model, "--tokens").text_fingerprint;
    write_ids(c.fixture, {c.bos});
    const std::string with_bos = provenance(model, "--tokens").text_fingerprint;
    const std::string says = c.adds_bos ? "the file adds BOS; " : "the file adds no BOS; ";
    const std::string put = fmt::format("{}token {} in front of every sequence", says, c.bos);
    const std::string none = says + "none in front of the sequences";
    for (const char* in_front : {"", c.bos_text}) {
      write_text(in_front);
      if (c.adds_bos || *in_front == 0) {
        const Provenance file = provenance(model, "--text");
        EXPECT_EQ(file.text_fingerprint, c.adds_bos ? with_bos : plain);
        EXPECT_EQ(file.bos_policy, c.adds_bos ? put : none);
      }
      const Provenance forced = provenance(model, "--text", "bos=force");
      EXPECT_EQ(forced.text_fingerprint, with_bos);
      EXPECT_EQ(forced.bos_policy, put + " (bos=force)");
      const Provenance without = provenance(model, "--text", "bos=none");
      EXPECT_EQ(without.text_fingerprint, plain);
      EXPECT_EQ(without.bos_policy, none + " (bos=none)");
    }
  }
}

TEST_F(Text, TheTokenizersConfigurationRulesOverItsTemplate) {
  const fs::path model = add_model("model");
  add_tokenizer(model, "llama2");
  write_text();
  for (const bool adds : {false, true}) {
    std::ofstream(model / "tokenizer_config.json")
        << nlohmann::json{{"bos_token", "<s>"}, {"add_bos_token", adds}};
    write_ids("llama2", adds ? Ids{0} : Ids{});
    EXPECT_EQ(provenance(model, "--text").text_fingerprint,
              provenance(model, "--tokens").text_fingerprint);
  }
}

TEST_F(Text, AModelOfTheCacheBringsItsTokenizer) {
  const fs::path folder = add_model("hub/models--o--m/snapshots/1");
  fs::create_directory(path("hub/models--o--m/refs"));
  write("hub/models--o--m/refs/main", "1");
  add_tokenizer(folder, "llama3");
  write_text();
  write_ids("llama3", {0});
  ASSERT_EQ(setenv("HF_HUB_CACHE", path("hub").c_str(), 1), 0);
  const Provenance text = provenance("o/m", "--text");
  const Provenance ids = provenance("o/m", "--tokens");
  unsetenv("HF_HUB_CACHE");
  EXPECT_EQ(text.model, "o/m");
  EXPECT_EQ(text.text_fingerprint, ids.text_fingerprint);
}

TEST_F(Text, WithoutATokenizerTextIsRefusedAndIdsAreTaken) {
  const std::string model = add_model("model").string();
  write_text();
  write_ids("llama3", {0});
  const auto refused = [&](const std::string& intervention, const std::string& corpus) {
    expect_error_with(probe(model, corpus, intervention), 1,
                      model +
                          ": expected tokenizer.json, found none; text cannot be used, token "
                          "ids can");
  };
  refused("", "--text");
  refused("bos=force", "--tokens");
  EXPECT_EQ(provenance(model, "--tokens").bos_policy, "tokenizer unknown; ids as given");
  const Outcome inspected = run_program({"inspect", model});
  EXPECT_EQ(inspected.code, 0);
  EXPECT_THAT(inspected.out, HasSubstr("unsupported  " + model + ": expected tokenizer.json"));

  write("model/tokenizer.json", R"({"model": {"type": "Unigram"}})");
  const std::string reason = "tokenizer.json: model.type: expected BPE, found Unigram";
  expect_error_with(probe(model, "--text"), 1, reason);
  EXPECT_THAT(run_program({"inspect", model}).out, HasSubstr(reason));
  EXPECT_EQ(probe(model, "--tokens").code, 0);
}

TEST_F(Text, InspectSaysWhichTokenizerWasUnderstood) {
  const fs::path model = add_model("model");
  add_tokenizer(model, "llama2");
  const std::string words = run_program({"inspect", model}).out;
  EXPECT_THAT(words, HasSubstr("tokenizer\n  SentencePiece BPE, byte fallback, 727 tokens, "
                               "pre-tokenizer none (normalizer Prepend, Replace)\n"));
  EXPECT_THAT(words, HasSubstr("  BOS is token 0; the file adds it in front of every document "
                               "(tokenizer.json, post_processor)\n"));
  EXPECT_THAT(words, testing::Not(HasSubstr("unsupported")));
  std::ofstream(model / "tokenizer_config.json") << R"({"add_bos_token": false})";
  const auto json = nlohmann::json::parse(run_program({"inspect", model, "--json"}).out);
  EXPECT_EQ(json["tokenizer"]["adds_bos"], false);
  EXPECT_EQ(json["tokenizer"]["bos_rule"],
            "tokenizer_config.json, add_bos_token; the post_processor of tokenizer.json adds one");
}

}  // namespace
}  // namespace poslens
