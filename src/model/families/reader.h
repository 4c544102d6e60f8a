#pragma once
// Reads the keys and tensors of one model, from config.json and safetensors or from GGUF, and
// notices what nobody asked for.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "poslens/checkpoint.h"
#include "poslens/config.h"
#include "poslens/model_spec.h"

namespace poslens {

// No model has an extent beyond.
inline constexpr int kMany = 1 << 24;

// What a key or tensor is called in a folder and in a GGUF file. Empty: that container has none of
// the kind. A key of config.json may have a second name after '|', an older one; GGUF keys stand
// without "<architecture>.".
struct Name {
  std::string_view folder;
  std::string_view gguf{};
};

class Reader {
 public:
  // GGUF keys start with "<architecture>.".
  Reader(const Checkpoint& checkpoint, std::string_view architecture);

  const Checkpoint& checkpoint() const { return checkpoint_; }
  bool is_gguf() const { return config_ == nullptr; }
  // Of the text model: config.json or its text_config. Folders only.
  const Config& config() const { return *config_; }
  // Makes a nested object the config; nothing when there is none.
  void enter(std::string_view key);

  // ---- Keys. Each throws Error naming the key, what was expected and what was found; those with
  // `otherwise` take it when there is no such key, or when it is null.
  bool has(const Name& key) const;      // there, and not null
  bool is_null(const Name& key) const;  // there, and null: no class default, but none at all
  int integer(const Name& key, int low, int high);
  int integer_or(const Name& key, int otherwise, int low, int high);
  double positive(const Name& key);  // finite and above 0
  double positive_or(const Name& key, double otherwise);
  // The same with 0 for null.
  double positive_or_none(const Name& key, double otherwise);
  bool flag_or(const Name& key, bool otherwise);
  std::string text_or(const Name& key, std::string_view otherwise);
  // A list of flags in a GGUF file; nullptr when the key is missing or of another type.
  const std::vector<bool>* flags_if(const Name& key);
  // Lets a key of a GGUF file be there that has no bearing on results.
  void ignore_key(std::string_view key) { keys_.insert(full(key)); }
  [[noreturn]] void fail(const Name& key, std::string_view expected, std::string_view found) const;

  // ---- Tensors.
  // Folders: the part of every name before those that a family uses ("model."), the first of the
  // list under which `probe` is there. Throws Error naming the probe.
  void set_base(const std::vector<std::string>& bases, std::string_view probe);
  // The name in the file once a tensor is there with this shape. Throws Error otherwise, unless the
  // file lacks the layer altogether, or such a layer and this belongs to none (see
  // first_missing_layer).
  std::string tensor(const Name& name, const std::vector<std::int64_t>& shape);
  // The first layer entered of which the file has no tensor at all, if there is one: people cut
  // files after the layers that they study. Layer 0 is always required.
  std::optional<int> first_missing_layer() const { return first_missing_layer_; }
  bool has_tensor(const Name& name) const;
  // Lets tensors be there that have no bearing on results: all whose names end or begin so.
  void ignore_tensors_ending(std::string suffix) { suffixes_.push_back(std::move(suffix)); }
  void ignore_tensors_beginning(std::string prefix) { prefixes_.push_back(std::move(prefix)); }

  // Folders: linear maps are stored as [inputs, outputs].
  void set_transposed() { transposed_ = !is_gguf(); }

  // A linear map: <name>.weight [outputs, inputs] and <name>.bias. A folder has the bias when
  // `bias` says so, a GGUF file when it is there.
  LinearSpec linear(const Name& name, std::int64_t outputs, std::int64_t inputs, bool bias);
  // Some rows of a tensor with rows.total.
  LinearSpec linear(const Name& name, const RowMap& rows, std::int64_t inputs, bool bias);
  // A norm of this kind: <name>.weight, and <name>.bias as `bias` says (see linear).
  NormSpec norm(const NormSpec& kind, const Name& name, const std::vector<std::int64_t>& shape,
                bool bias = false);

  // Names of tensors from now on are those of one layer: "layers.3." in a folder, "blk.3." in GGUF
  // files. enter_layer(-1): of no layer.
  void enter_layer(int number, std::string_view folder_name = "layers");

  // Throws Error naming the first tensor (and the first key of a GGUF file) that nobody asked for:
  // running the model without it would measure another model.
  void finish() const;

 private:
  std::string full(std::string_view key) const;
  std::string use(std::string_view key);
  std::string_view key_of(const Name& key) const;
  std::string file_name(const Name& name) const;
  // <name>.weight, and <name>.bias: of a folder when `bias` says so, of a GGUF file when it is
  // there.
  std::string weight(const Name& name, const std::vector<std::int64_t>& shape);
  std::string bias_if(const Name& name, const std::vector<std::int64_t>& shape, bool bias);

  const Checkpoint& checkpoint_;
  std::optional<Config> own_config_;
  const Config* config_;
  std::string prefix_;  // of GGUF keys
  std::string base_;    // of tensors in a folder
  std::string layer_;   // of tensors of the layer entered
  bool layer_missing_ = false;
  std::optional<int> first_missing_layer_;
  bool transposed_ = false;
  std::set<std::string, std::less<>> keys_;
  std::set<std::string, std::less<>> tensors_;
  std::vector<std::string> suffixes_;
  std::vector<std::string> prefixes_;
};

}  // namespace poslens
