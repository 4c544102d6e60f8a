#pragma once
// A decoder-only Transformer as data. families/*.cc translate a checkpoint into a ModelSpec and its
// weights' names; interventions change a ModelSpec; the decoder runs it and knows neither.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "poslens/alibi.h"
#include "poslens/checkpoint.h"
#include "poslens/mask.h"
#include "poslens/rotary.h"

namespace poslens {

// silu(x) = x / (1 + exp(-x)); gelu(x) = x (1 + erf(x / sqrt 2)) / 2, and its tanh approximation.
enum class Activation { silu, gelu, gelu_tanh };

// Which rows of a tensor are a linear map's: row r is number first + r / block * stride + r %
// block.
struct RowMap {
  std::int64_t first = 0;
  std::int64_t block = 0;   // 0: rows follow one another
  std::int64_t stride = 0;  // from one block to the next
  std::int64_t total = 0;   // rows of the tensor; 0: the map has them all
};

// A linear map y = W x + b in the checkpoint.
struct LinearSpec {
  std::string weight{};     // tensor [outputs, inputs]; with rows, some rows of [total, inputs]
  std::string bias{};       // tensor [outputs], or [total]; empty: none
  RowMap rows{};            // of weight and bias
  bool transposed = false;  // the weight is stored as [inputs, total]
};

struct NormSpec {
  enum class Kind {
    none,   // y = x
    rms,    // y = w x / sqrt(mean x^2 + epsilon)
    layer,  // y = w (x - mean x) / sqrt(var x + epsilon) + b
  };
  Kind kind = Kind::none;
  double epsilon = 0;
  std::vector<std::string> weight{};  // tensors, joined; none: w = 1
  std::string bias{};                 // empty: none
  bool adds_one = false;              // the file holds w - 1
};

struct AttentionSpec {
  int query_heads = 0;
  int key_value_heads = 0;  // query head h reads key-value head h / (query_heads / key_value_heads)
  int head_dim = 0;
  LinearSpec query, key, value, output;  // query has query_heads * head_dim outputs, and so on
  double clip = 0;                       // query, key and value are cut to [-clip, clip]; 0: not
  // Of the projected query and key, before rotation. The weights are one for all heads [head_dim]
  // or one per head [heads * head_dim].
  NormSpec query_norm, key_norm;
  bool norm_spans_heads = false;  // mean and variance over the whole projection
  std::optional<RotarySpec> rotary;
  RopeScaling rope_scaling;
  RotaryPairs rotary_pairs = RotaryPairs::halves;
  double scale = 0;    // of scores, head_dim^-1/2 as a rule
  double softcap = 0;  // c: scores become c tanh(score / c); 0: none
  std::optional<AlibiSpec> alibi;
  Mask mask;
};

// down(activation(gate(x)) * up(x)), or down(activation(up(x))) when there is no gate.
struct FeedForwardSpec {
  int width = 0;
  Activation activation = Activation::silu;
  LinearSpec gate, up, down;
  bool gated() const { return !gate.weight.empty(); }
};

// How the parts of a layer join, A and F being attention and feed-forward with their norms:
// A(x) = output_norm(attention(norm(x))).
enum class Residual {
  sequential,  // y = x + A(x); y + F(y)
  parallel,    // x + A(x) + F(x)
  from_norm,   // y = norm(x) + A(x); norm(y) + F(y)
};

// Norms of kind none are left out.
struct LayerSpec {
  Residual residual = Residual::sequential;
  NormSpec attention_norm, attention_output_norm;
  AttentionSpec attention;
  NormSpec feed_forward_norm, feed_forward_output_norm;
  FeedForwardSpec feed_forward;
};

enum class BosPolicy { file, none, force };

struct ModelSpec {
  std::string name;    // for people
  std::string family;  // "llama"
  int hidden = 0;
  int vocabulary = 0;
  int context_length = 0;  // trained for, 0 if unknown; longer sequences are allowed
  int position_limit = 0;  // positions there are; 0: any number

  std::string embedding;  // tensor [vocabulary, hidden]
  double embedding_scale = 1;
  std::string
      learned_positions;  // tensor [position_limit, hidden], added to embeddings; empty: none
  NormSpec embedding_norm;
  std::vector<LayerSpec> layers;
  // The file ends before this layer: neither it nor what follows can run.
  std::optional<int> first_missing_layer;
  NormSpec final_norm;
  LinearSpec head;  // [vocabulary, hidden]; the embedding's name when tied
  double logit_scale = 1;
  double logit_softcap = 0;  // c: logits become c tanh(logit / c); 0: none

  // Set by interventions.
  std::int64_t first_position = 0;
  BosPolicy bos = BosPolicy::file;
};

// Understands a checkpoint. Throws Error naming the key or tensor that is missing, unknown or of
// the wrong shape, and what is supported. Every tensor of the file must be accounted for. Whole
// layers may be missing at the end, see first_missing_layer.
ModelSpec read_model_spec(const Checkpoint& checkpoint);

// For `inspect`: the spec in words, one line per fact.
std::string describe(const ModelSpec& spec);

}  // namespace poslens
