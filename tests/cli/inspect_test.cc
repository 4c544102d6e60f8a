#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "support/safetensors_writer.h"
#include "support/tiny_model.h"

namespace poslens {
namespace {

using testing::HasSubstr;

class Inspect : public ProgramTest {
 protected:
  Outcome inspect(const GgufWriter& model, const std::string& options = "") const {
    model.write(path("model.gguf").string());
    std::vector<std::string> arguments = {"inspect", path("model.gguf").string()};
    for (const std::string& word : words(options)) arguments.push_back(word);
    return run_program(arguments);
  }
};

// 259 * 16 + 16 + 3 * (2 * 16 + 2 * 16 * 16 + 2 * 8 * 16 + 3 * 24 * 16)
constexpr int kParameters = 4144 + 16 + 3 * (32 + 512 + 256 + 1152);

TEST_F(Inspect, SaysWhatWasUnderstood) {
  const Outcome outcome = inspect(tiny_model());
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const std::string& part : {std::string("GGUF v3"), std::string("name         tiny"),
                                  "parameters   " + std::to_string(kParameters),
                                  "29 tensors, " + std::to_string(kParameters) + " parameters, " +
                                      std::to_string(4 * kParameters) + " bytes",
                                  std::string("259 tokens, pre-tokenizer gpt-2"),
                                  std::string("BOS is token 258; the file adds none")}) {
    EXPECT_THAT(outcome.out, HasSubstr(part));
  }
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("unsupported")));
}

TEST_F(Inspect, Json) {
  const auto json = nlohmann::json::parse(inspect(tiny_model(), "--json").out);
  EXPECT_EQ(json["file"], path("model.gguf").string());
  EXPECT_EQ(json["architecture"], "llama");
  EXPECT_EQ(json["parameters"], kParameters);
  EXPECT_EQ(json["model"]["layers"], 3);
  EXPECT_EQ(json["model"]["hidden"], 16);
  EXPECT_EQ(json["model"]["vocabulary"], 259);
  EXPECT_EQ(json["tokenizer"]["pre_tokenizer"], "gpt-2");
  EXPECT_EQ(json["tokenizer"]["adds_bos"], false);
  EXPECT_EQ(json["tokenizer"]["bos"], 258);
  EXPECT_TRUE(json["unsupported"].empty());
}

TEST_F(Inspect, ShowsAChangedModel) {
  const Outcome outcome =
      inspect(tiny_model(), "--intervene=rope=none@1 --intervene=mask=window:128");
  EXPECT_THAT(outcome.out, HasSubstr("layer 1: RoPE: none; mask: window:128\n"));
  EXPECT_THAT(outcome.out, HasSubstr("changed      RoPE off in layer 1 (counted from 0)\n"
                                     "changed      mask: window of 128 keys in all layers\n"));
  const auto json = nlohmann::json::parse(inspect(tiny_model(), "--json --intervene=bos=none").out);
  EXPECT_EQ(json.at("model").at("changes"), nlohmann::json::array({"no BOS"}));
  expect_error(inspect(tiny_model(), "--intervene=rope=none@3"), 2,
               "--intervene rope=none@3: layer 3: the model has 3 layers, 0 to 2");
}

TEST_F(Inspect, SaysWhatIsUnsupportedAndShowsTheRest) {
  const Outcome outcome = inspect(tiny_model("dream"));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("unsupported  " + path("model.gguf").string()));
  EXPECT_THAT(outcome.out, HasSubstr("dream"));
  EXPECT_THAT(outcome.out, HasSubstr("model\n"));

  GgufWriter other;
  other.text("general.architecture", "mamba");
  other.tensor("x", {4}, std::vector<float>(4));
  const auto json = nlohmann::json::parse(inspect(other, "--json").out);
  EXPECT_EQ(json["unsupported"].size(), 2);
  EXPECT_TRUE(json["model"].is_null());
  EXPECT_TRUE(json["tokenizer"].is_null());
  EXPECT_EQ(json["parameters"], 4);
}

// A folder as in the hub's cache, with a mask of booleans among its tensors.
TEST_F(Inspect, ReadsFoldersAndIds) {
  const std::filesystem::path folder = path("hub/models--o--m/snapshots/1");
  std::filesystem::create_directories(folder);
  std::filesystem::create_directory(path("hub/models--o--m/refs"));
  write("hub/models--o--m/snapshots/1/config.json", R"({"model_type": "unheard_of"})");
  SafetensorsWriter weights;
  weights.tensor("a", {2, 2}, std::vector<float>{1, 2, 3, 4});
  weights.tensor("b", "BF16", {3}, "abcdef");
  weights.tensor("mask", "BOOL", {1}, "\1");
  weights.write(folder / "model.safetensors");
  const Outcome outcome = run_program({"inspect", folder.string()});
  EXPECT_EQ(outcome.code, 0);
  for (const char* part :
       {"format       safetensors\n", "name         o/m\n", "architecture unheard_of\n",
        "parameters   8\n", "F32        1 tensors, 4 parameters, 16 bytes",
        "BF16       1 tensors, 3 parameters, 6 bytes",
        "BOOL       1 tensors, 1 parameters, 1 bytes", "unsupported  "}) {
    EXPECT_THAT(outcome.out, HasSubstr(part));
  }
  ASSERT_EQ(setenv("HF_HUB_CACHE", path("hub").c_str(), 1), 0);
  write("hub/models--o--m/refs/main", "1");
  const Outcome of_id = run_program({"inspect", "o/m"});
  EXPECT_EQ(of_id.out, outcome.out);
  expect_error_with(run_program({"inspect", "o/other"}), 1,
                    "o/other: expected a file, a folder, or a model in the cache");
  unsetenv("HF_HUB_CACHE");
}

TEST_F(Inspect, AFileThatCannotBeReadIsAnError) {
  expect_error_with(run_program({"inspect", path("none.gguf").string()}), 1, "none.gguf: ");
  const std::string file = write("cut.gguf", tiny_model().bytes().substr(0, 500)).string();
  expect_error_with(run_program({"inspect", file}), 1, file + ": ");
  expect_error_with(run_program({"inspect"}), 2, "is required");
}

}  // namespace
}  // namespace poslens
