#pragma once
// The one result type: theory, simulation and models all yield a ScoreMap, and metrics, figures and
// reports cannot tell them apart. docs/formats.md describes its .npz file.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "poslens/matrix.h"

namespace poslens {

enum class Source { theory, simulation, model };

// How far a score has come: raw q.k; scaled by the softmax scale; capped by the softcap; biased by
// ALiBi. A mask is never part of a score.
enum class Stage { raw, scaled, capped, biased };

std::string to_string(Source source);
std::string to_string(Stage stage);

// What was done to get a map: enough to do it again. Empty text and zero numbers mean "does not
// apply" and are left out of meta.json.
struct Provenance {
  std::string averaging;                                     // in words: what the mean runs over
  std::vector<std::pair<std::string, std::string>> options;  // option name without --, value
  std::string engine;                                        // simulation: triangular or dense
  std::string model;                                         // name of the model
  std::string model_fingerprint;                             // hash of the file
  std::string bos_policy;                  // what the tokenizer's file says, and what was done
  std::vector<std::string> interventions;  // as given
  std::vector<std::string> changes;        // the same in words
  std::string text;                        // where the tokens came from
  std::string text_fingerprint;            // hash of the token ids
  std::int64_t documents_used = 0;
  std::int64_t documents_skipped = 0;  // too short for one sequence
  std::uint64_t seed = 0;
  std::string program;       // poslens and its version
  std::string command_line;  // as given
  double seconds = 0;
  std::int64_t peak_memory_bytes = 0;
};

struct ScoreMap {
  Source source = Source::theory;
  Stage stage = Stage::scaled;
  std::int64_t n = 0;
  std::vector<int> layers;          // layer numbers, from 0, in ascending order
  std::vector<float> scores;        // [layers, n, n] mean scores; NaN where the mask hides the pair
  std::vector<std::int64_t> count;  // [n, n] samples behind each entry; 0 where hidden

  // Optional; empty when not asked for.
  std::vector<float> variance;       // [layers, n, n] over samples
  std::vector<float> probs;          // [layers, n, n] mean attention probabilities
  std::int64_t groups = 0;           // sample s belongs to group s mod groups
  std::vector<float> scores_groups;  // [groups, layers, n, n]
  std::int64_t heads = 0;
  std::vector<float> scores_heads;  // [layers, heads, n, n]
  std::vector<double> loss;         // [n-1] next-token cross entropy by position, nats
  std::vector<double> recency;      // [layers] recency probability
  // [layers] share of the samples' rows that increase strictly with the key
  std::vector<double> monotonicity;
  // [layers] of a ridge fit of the position to the scores of one sample's row: R^2 and mean
  // absolute error, on other samples than it was made on
  std::vector<double> readout_r2;
  std::vector<double> readout_error;
  // Of the residual stream x_i before the first layer and after each: the mean norm |x_i|, [layers
  // + 1, n], and the mean cosine of x_i and x_j, [layers + 1, n, n], symmetric, masked or not.
  std::vector<float> hidden_norm;
  std::vector<float> hidden_cosine;
  // [layers + 1, n, hidden_width] mean residual stream of a model by position: what enters each of
  // `layers`, and what leaves the last of them, before the final norm.
  std::int64_t hidden_width = 0;
  std::vector<float> hidden;
  // How well a linear map of one token's state in the same places tells its position (probe
  // --decode): R^2 and mean absolute error in positions, [layers + 1], and [groups, layers + 1]
  // without each of the groups of sequences that it was tested on.
  std::vector<double> decoding_r2;
  std::vector<double> decoding_error;
  std::vector<double> decoding_r2_leave_one_out;
  std::vector<double> decoding_error_leave_one_out;
  // Gram maps by name (gram.h), [layers, n, n] each.
  std::map<std::string, std::vector<float>> gram;
  // Pooled maps: n counts blocks of `pool` positions (the last may be shorter), every entry of a
  // map is the mean over the pairs of its block that the mask shows, and NaN where there is none.
  // scores_* and probs_* by position are exact: *_diagonals [layers, 2 positions - 1], the lags
  // i - j from 1 - positions on, *_rows and *_columns [layers, positions]; NaN where nothing shows.
  std::int64_t pool = 1;
  std::int64_t pooled_positions = 0;  // 0 when not pooled
  std::map<std::string, std::vector<double>> profiles;
  // Parts of a simulation: the exact sums that the means come from, and which blocks of samples
  // they cover; only src/simulation reads them.
  std::map<std::string, std::vector<std::int64_t>> sums;

  Provenance provenance;

  // Tokens of a sequence.
  std::int64_t positions() const { return pool > 1 ? pooled_positions : n; }

  // The map of the layer at this place in `layers` (not the layer's number).
  MatrixView<const float> layer(std::size_t place) const;
  MatrixView<const float> group_layer(std::size_t group, std::size_t place) const;
  // Those of all groups; the mean map alone where there are none.
  std::vector<MatrixView<const float>> group_layers(std::size_t place) const;
  // The place of a layer number in `layers`. Throws Error, naming the layers there are.
  std::size_t place_of(int layer_number) const;

  // All values allocated for `layer_count` layers: scores NaN, count zero.
  static ScoreMap sized(std::vector<int> layer_numbers, std::int64_t n);
};

// Writes the artefact; see write_atomically. Throws Error when the file cannot be written.
void save(const ScoreMap& map, const std::filesystem::path& path);

// Reads an artefact. Throws Error naming the file and array when it is not one, is damaged, or has
// an array of another type or shape than docs/formats.md says.
ScoreMap load_score_map(const std::filesystem::path& path);

// What meta.json holds, as JSON text (schema poslens/1).
std::string meta_json(const ScoreMap& map);

}  // namespace poslens
