#pragma once
// What the readers of families share: the parts that most models have under the same names.

#include <string>
#include <string_view>
#include <vector>

#include "model/families/reader.h"

namespace poslens {

// Name, sizes and context length. `layers` is their number.
struct Sizes {
  ModelSpec spec;
  int layers = 0;
};
struct SizeKeys {
  Name hidden{"hidden_size", "embedding_length"};
  Name layers{"num_hidden_layers", "block_count"};
  Name context{"max_position_embeddings", "context_length"};
  Name embedding{"embed_tokens.weight", "token_embd.weight"};
  std::vector<std::string> bases{"model.", ""};  // see Reader::set_base
};
Sizes read_sizes(Reader& reader, std::string_view family, const SizeKeys& keys = {});

// Heads, head size and the usual score scale. What a family takes for keys that are not there; 0:
// as many key-value heads as query heads, hidden / heads; heads must be stated.
struct HeadDefaults {
  int heads = 0;
  int key_value_heads = 0;
  int head_dim = 0;
  Name heads_key{"num_attention_heads", "attention.head_count"};
  Name key_value_heads_key{"num_key_value_heads", "attention.head_count_kv"};
};
AttentionSpec read_heads(Reader& reader, int hidden, const HeadDefaults& defaults = {});

NormSpec rms_norm(Reader& reader, double default_epsilon,
                  const Name& key = {"rms_norm_eps", "attention.layer_norm_rms_epsilon"});
NormSpec layer_norm(Reader& reader, double default_epsilon,
                    const Name& key = {"layer_norm_eps", "attention.layer_norm_epsilon"});

Activation read_activation(Reader& reader, const Name& key, std::string_view otherwise);

// Query, key, value and output of the layer entered, in tensors of their own.
struct ProjectionNames {
  Name query{"self_attn.q_proj", "attn_q"};
  Name key{"self_attn.k_proj", "attn_k"};
  Name value{"self_attn.v_proj", "attn_v"};
  Name output{"self_attn.o_proj", "attn_output"};
};
void read_projections(Reader& reader, AttentionSpec& attention, int hidden, bool bias,
                      bool output_bias, const ProjectionNames& names = {});

// How the rows of a fused tensor of query, key and value lie in a folder; GGUF files always have
// query, key, value.
enum class FusedRows {
  in_turn,    // all of query, of key, of value
  per_group,  // for each key-value head: its queries, the key, the value
};
void read_fused_projections(Reader& reader, AttentionSpec& attention, int hidden, FusedRows rows,
                            bool bias, const Name& fused, const Name& output);

// down(activation(gate) * up), and down(activation(up)).
FeedForwardSpec read_gated(Reader& reader, int hidden, Activation activation, int width,
                           bool bias = false);
FeedForwardSpec read_plain(Reader& reader, int hidden, Activation activation, int width, bool bias,
                           const Name& up, const Name& down);
// The layer entered, pre-norm and gated, all tensors under Llama's names:
//   x += attention(norm(x));  x += down(activation(gate(y)) * up(y)), y = norm(x).
struct GatedLayer {
  NormSpec norm{};
  Activation activation = Activation::silu;
  int width = 0;
  bool bias = false;         // of query, key and value
  bool output_bias = false;  // of the attention's output
  bool feed_forward_bias = false;
};
LayerSpec read_gated_layer(Reader& reader, const GatedLayer& parts, const AttentionSpec& attention,
                           int hidden);

int read_width(Reader& reader, const Name& key = {"intermediate_size", "feed_forward_length"});

// The window of layers that slide; null in config.json is none, 0, and so it is in GGUF files.
int read_window(Reader& reader, int otherwise);
// Keys i - window + 1 to i, or all up to i for a window of 0.
Mask window_mask(int window);
// Which layers slide: as layer_types of config.json or the pattern of a GGUF file says, else as
// `otherwise` does.
std::vector<bool> sliding_layers(Reader& reader, int layers,
                                 const std::function<bool(int)>& otherwise);

// The head: the embedding when tied, else a matrix of its own. GGUF files tie by leaving it out.
void read_head(Reader& reader, ModelSpec& spec, bool tied_by_default,
               const Name& name = {"/lm_head.weight", "output.weight"});

// What comes after the layers: the final norm, of the kind `norm`, and the head.
struct EndKeys {
  Name norm{"norm", "output_norm"};
  bool bias = false;             // of the norm
  bool tied_by_default = false;  // see read_head
  Name head{"/lm_head.weight", "output.weight"};
};
void read_ends(Reader& reader, ModelSpec& spec, const NormSpec& norm, const EndKeys& keys = {});

// use_sliding_window, max_window_layers and layer_types of Qwen 2 and 3.
void read_qwen_windows(Reader& reader, ModelSpec& spec);

}  // namespace poslens
