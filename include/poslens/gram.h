#pragma once
// The Gram maps of Figure 3 of arXiv 2509.21042: means of u_i . u_j over samples, where u is what
// passes through a layer at one of nine places.

#include <array>

namespace poslens {

// In the figure's order, (a) to (i); arrays of an artefact are named gram_ and this.
enum class GramStage {
  attention_input,       // what query, key and value are made from: as a rule a norm's output
  query_key,             // scaled scores q_i . k_j, before softcap and ALiBi
  heads,                 // the heads' outputs, joined
  attention_output,      // these after the output projection, before a norm that follows it
  attention_residual,    // the residual stream with attention added
  feed_forward_input,    // as a rule a norm's output
  layer_output,          // the residual stream after the layer
  next_attention_input,  // attention_input of the next layer
  next_query_key,        // query_key of the next layer
};

inline constexpr std::array<const char*, 9> kGramNames = {
    "attention_input",    "query_key",          "heads",        "attention_output",
    "attention_residual", "feed_forward_input", "layer_output", "next_attention_input",
    "next_query_key"};

}  // namespace poslens
