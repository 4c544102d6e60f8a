#pragma once
// The folders of golden/: checkpoints of all families with what transformers computes from them
// (tools/golden/model_families.py).

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "poslens/checkpoint.h"
#include "poslens/decoder.h"
#include "poslens/model_spec.h"
#include "poslens/npz.h"
#include "support/temporary_folder.h"

namespace poslens {

class GoldenFixture {
 public:
  // How the checkpoint is described: config.json of transformers 5 or 4, or a GGUF file.
  enum class Style { v5, v4, gguf };

  explicit GoldenFixture(const std::string& name, Style style = Style::v5);

  const Checkpoint& checkpoint() const { return *checkpoint_; }
  const ModelSpec& spec() const { return spec_; }
  const TokenBatch& batch() const { return batch_; }

  // The interventions there are values for: their texts, "plain" for none.
  std::vector<std::string> cases() const;
  // The spec under the interventions of a text, separated by spaces.
  ModelSpec changed(const std::string& text) const;

  std::vector<float> floats(const std::string& name) const;
  std::vector<double> doubles(const std::string& name) const;

  // The largest deviation of maps [planes, n, n] of a layer from "<text> <what>", over the pairs
  // that the layer shows; NaN when one of these is.
  double deviation(const std::vector<float>& maps, const std::string& text, const std::string& what,
                   const ModelSpec& spec, std::size_t layer) const;
  // The largest deviation of a run's scores and losses.
  double deviation(const ScoreMap& map, const std::string& text, const ModelSpec& spec) const;
  // Difference of a layer's largest and smallest mean score among the pairs it shows.
  double range(const std::string& text, const ModelSpec& spec, std::size_t layer) const;

  // Names of the folders, in order; of those with a GGUF file.
  static std::vector<std::string> names();
  static std::vector<std::string> names_with_gguf();

 private:
  TemporaryFolder copy_;  // with config_v4.json as config.json
  std::unique_ptr<Checkpoint> checkpoint_;
  ModelSpec spec_;
  NpzContents expected_;
  TokenBatch batch_;
};

}  // namespace poslens
