#pragma once
// A Llama checkpoint in memory with random parameters, for tests that need other sizes than the
// golden files have, or files that are wrong.

#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "poslens/checkpoint.h"
#include "poslens/random.h"

namespace poslens {

class TinyCheckpoint : public Checkpoint {
 public:
  struct Sizes {
    std::int64_t layers = 2;
    std::int64_t hidden = 24;
    std::int64_t width = 40;
    std::int64_t query_heads = 4;
    std::int64_t key_value_heads = 2;
    std::int64_t head_dim = 8;
    std::int64_t vocabulary = 37;
  };

  TinyCheckpoint() : TinyCheckpoint(Sizes()) {}
  explicit TinyCheckpoint(const Sizes& sizes) {
    set("general.architecture", std::string("llama"));
    set("llama.block_count", sizes.layers);
    set("llama.embedding_length", sizes.hidden);
    set("llama.feed_forward_length", sizes.width);
    set("llama.attention.head_count", sizes.query_heads);
    set("llama.attention.head_count_kv", sizes.key_value_heads);
    set("llama.attention.key_length", sizes.head_dim);
    set("llama.attention.value_length", sizes.head_dim);
    set("llama.attention.layer_norm_rms_epsilon", 1e-3);
    set("llama.rope.freq_base", 500.0);
    add("token_embd.weight", {sizes.vocabulary, sizes.hidden});
    add("output_norm.weight", {sizes.hidden});
    add("output.weight", {sizes.vocabulary, sizes.hidden});
    for (std::int64_t layer = 0; layer < sizes.layers; ++layer) {
      const std::string block = "blk." + std::to_string(layer) + '.';
      const std::int64_t queries = sizes.query_heads * sizes.head_dim;
      const std::int64_t keys = sizes.key_value_heads * sizes.head_dim;
      add(block + "attn_norm.weight", {sizes.hidden});
      add(block + "attn_q.weight", {queries, sizes.hidden});
      add(block + "attn_k.weight", {keys, sizes.hidden});
      add(block + "attn_v.weight", {keys, sizes.hidden});
      add(block + "attn_output.weight", {sizes.hidden, queries});
      add(block + "ffn_norm.weight", {sizes.hidden});
      add(block + "ffn_gate.weight", {sizes.width, sizes.hidden});
      add(block + "ffn_up.weight", {sizes.width, sizes.hidden});
      add(block + "ffn_down.weight", {sizes.hidden, sizes.width});
    }
  }

  void set(const std::string& key, MetadataValue value) { metadata_[key] = std::move(value); }
  void erase(const std::string& key) { metadata_.erase(key); }

  // A tensor of random values; one of the same name is replaced. Rows have norm near 1, vectors
  // are near 1 throughout.
  void add(const std::string& name, const std::vector<std::int64_t>& shape) {
    remove(name);
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    RandomStream random(3, tensors_.size());
    std::vector<float>& values = values_[name];
    values.resize(static_cast<std::size_t>(count));
    for (float& value : values) {
      value = static_cast<float>(shape.size() == 1
                                     ? 1 + 0.3 * random.normal()
                                     : random.normal() / std::sqrt(static_cast<double>(shape[1])));
    }
    tensors_.push_back({name, TensorType::f32, shape, std::as_bytes(std::span(values))});
  }
  void remove(const std::string& name) {
    std::erase_if(tensors_, [&](const TensorEntry& entry) { return entry.name == name; });
  }
  std::vector<float>& values(const std::string& name) { return values_.at(name); }

  const std::filesystem::path& path() const override { return path_; }
  std::string format() const override { return "memory"; }
  const std::vector<TensorEntry>& tensors() const override { return tensors_; }
  const std::map<std::string, MetadataValue>& metadata() const override { return metadata_; }
  const Config* config() const override { return nullptr; }
  std::filesystem::path folder() const override { return {}; }
  std::string fingerprint() const override { return "0000000000000000"; }

 private:
  std::filesystem::path path_ = "tiny.gguf";
  std::map<std::string, MetadataValue> metadata_;
  std::map<std::string, std::vector<float>> values_;
  std::vector<TensorEntry> tensors_;
};

}  // namespace poslens
