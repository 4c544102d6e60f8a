#include "poslens/config.h"

#include <fstream>
#include <string_view>

#include "fuzz/entries.h"
#include "poslens/checkpoint.h"
#include "poslens/error.h"
#include "poslens/model_spec.h"
#include "support/safetensors_writer.h"
#include "support/temporary_folder.h"

namespace poslens::fuzz {
namespace {

template <typename Call>
void ignore_errors(Call call) {
  try {
    call();
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the answer to a bad file
  }
}

// Asks for every key as every type.
void use(const Config& config) {
  for (const std::string& key : config.keys()) {
    ignore_errors([&] { config.integer(key); });
    ignore_errors([&] { config.number(key); });
    ignore_errors([&] { config.boolean(key); });
    ignore_errors([&] { config.text(key); });
    ignore_errors([&] { config.integers(key); });
    ignore_errors([&] { config.numbers(key); });
    ignore_errors([&] { config.texts(key); });
    ignore_errors([&] { use(config.object(key)); });
  }
}

// Weights of a model of one layer whose extents are all 2, under the names of Llama; a family that
// gets as far as its tensors finds some of them.
void write_weights(const std::filesystem::path& path) {
  SafetensorsWriter writer;
  const std::string layer = "model.layers.0.";
  for (const std::string& name :
       {layer + "self_attn.q_proj", layer + "self_attn.k_proj", layer + "self_attn.v_proj",
        layer + "self_attn.o_proj", layer + "mlp.gate_proj", layer + "mlp.up_proj",
        layer + "mlp.down_proj", std::string("model.embed_tokens"), std::string("lm_head")}) {
    writer.tensor(name + ".weight", {2, 2}, std::vector<float>{1, 2, 3, 4});
  }
  for (const std::string& name :
       {layer + "input_layernorm", layer + "post_attention_layernorm", std::string("model.norm")}) {
    writer.tensor(name + ".weight", {2}, std::vector<float>{1, 2});
  }
  writer.write(path);
}

}  // namespace

void config(std::span<const std::byte> file) {
  static const TemporaryFolder folder;
  static const bool written = (write_weights(folder.path() / "model.safetensors"), true);
  (void)written;
  const std::string text(reinterpret_cast<const char*>(file.data()), file.size());
  ignore_errors([&] { use(Config::parse(text, "config.json")); });
  std::ofstream(folder.path() / "config.json", std::ios::binary) << text;
  ignore_errors([] { describe(read_model_spec(*Checkpoint::open(folder.path()))); });
}

}  // namespace poslens::fuzz
