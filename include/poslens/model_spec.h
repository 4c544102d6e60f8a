#pragma once
// A decoder-only Transformer as data. families/*.cc translate a checkpoint into a ModelSpec and its
// weights' names; interventions change a ModelSpec; the decoder runs it and knows neither.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "poslens/checkpoint.h"
#include "poslens/mask.h"
#include "poslens/rotary.h"

namespace poslens {

enum class Activation { silu };

// Which coordinates of a head turn together.
enum class RotaryPairs {
  halves,       // (k, k + rotary_dim / 2)
  interleaved,  // (2k, 2k + 1)
};

// A linear map y = W x + b in the checkpoint.
struct LinearNames {
  std::string weight;  // tensor [outputs, inputs]
  std::string bias;    // tensor [outputs]; empty: none
};

struct AttentionSpec {
  int query_heads = 0;
  int key_value_heads = 0;  // query head h reads key-value head h / (query_heads / key_value_heads)
  int head_dim = 0;
  double scale = 0;  // of scores, head_dim^-1/2 as a rule
  std::optional<RotarySpec> rotary;
  RotaryPairs rotary_pairs = RotaryPairs::halves;
  Mask mask;
  LinearNames query, key, value, output;
};

// down(activation(gate(x)) * up(x))
struct FeedForwardSpec {
  int width = 0;
  Activation activation = Activation::silu;
  LinearNames gate, up, down;
};

// x += attention(norm(x)); x += feed_forward(norm(x)). RMS norms with a weight [hidden].
struct LayerSpec {
  std::string attention_norm;  // tensor names
  std::string feed_forward_norm;
  AttentionSpec attention;
  FeedForwardSpec feed_forward;
};

enum class BosPolicy { file, none, force };

struct ModelSpec {
  std::string name;    // for people
  std::string family;  // "llama"
  int hidden = 0;
  int vocabulary = 0;
  int context_length = 0;  // trained for, 0 if unknown; longer sequences are allowed
  double norm_epsilon = 0;
  std::string embedding;  // tensor [vocabulary, hidden]
  std::string final_norm;
  std::string head;  // tensor [vocabulary, hidden]; the embedding's name when tied
  std::vector<LayerSpec> layers;

  // Set by interventions.
  std::int64_t first_position = 0;
  BosPolicy bos = BosPolicy::file;
};

// Understands a checkpoint. Throws Error naming the key or tensor that is missing, unknown or of
// the wrong shape, and what is supported. Every tensor of the file must be accounted for.
ModelSpec read_model_spec(const Checkpoint& checkpoint);

// For `inspect`: the spec in words, one line per fact.
std::string describe(const ModelSpec& spec);

}  // namespace poslens
