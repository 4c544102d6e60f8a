#pragma once
// Options that the verbs which run a model share.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "poslens/corpus.h"
#include "poslens/decoder.h"
#include "poslens/intervention.h"
#include "poslens/score_map.h"

namespace poslens::cli {

struct ModelOptions {
  std::string model;  // as find_model takes it
  CorpusOptions corpus;
  DecoderOptions decoder;
  std::uint64_t seed = 0;

  // What can be checked before a file is opened: throws UsageError. Layers are checked by
  // DecoderOptions::validate, once the model is known.
  void validate() const;
};

// --intervene, repeatable.
void add_intervene_option(CLI::App& command, std::vector<Intervention>& interventions);

// ", changed: no BOS; RoPE off in all layers", or nothing.
std::string changes_in_words(const Provenance& provenance);

// MODEL: a path or an id.
void add_model_argument(CLI::App& command, std::string& model);

// --text --tokens --length --sequences --cut --layers --dtype --groups --memory.
void add_run_options(CLI::App& command, CorpusOptions& corpus, DecoderOptions& decoder);

// MODEL, those of a run, and --seed.
void add_model_options(CLI::App& command, ModelOptions& options);

}  // namespace poslens::cli
