#pragma once
// One pass of a model over a corpus, to an artefact.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "poslens/checkpoint.h"
#include "poslens/corpus.h"
#include "poslens/decoder.h"
#include "poslens/intervention.h"
#include "poslens/run_parts.h"
#include "poslens/tokenizer.h"

namespace poslens {

// A model file, understood. tokenizer is null, and why_no_tokenizer says why, when the file's text
// conventions are unknown; token ids still work then.
struct LoadedModel {
  std::unique_ptr<Checkpoint> checkpoint;
  ModelSpec spec;
  std::unique_ptr<Tokenizer> tokenizer;
  std::string why_no_tokenizer;
};
LoadedModel load_model(const std::filesystem::path& path);

// The corpus as the changed model reads it: the interventions bos=none|force decide what stands in
// front of the sequences, whatever options.bos says. Throws Error with why_no_tokenizer when a text
// is given to a model without tokenizer.
Corpus read_corpus(const LoadedModel& model, CorpusOptions options,
                   const std::vector<Intervention>& interventions);

struct ProbeOptions {
  DecoderOptions decoder;
  std::vector<Intervention> interventions;
  bool shuffle = false;  // the tokens within each sequence
  std::uint64_t seed = 0;
  std::optional<Shard> shard{};  // run this part of the sequences alone
};

// Fills everything but command_line of the map's provenance. Throws Error when the interventions
// ask for another BOS than the corpus was read with, and when the checkpoint's file is of another
// run (naming the file and the field). The same bits for the same thread count, interrupted or not.
ScoreMap probe(const LoadedModel& model, const Corpus& corpus, const ProbeOptions& options,
               const RunCheckpoint& checkpoint = {});

// What probe() says of its map, but for seconds, memory and command line.
Provenance expected_provenance(const LoadedModel& model, const Corpus& corpus,
                               const ProbeOptions& options);

// Joins all shards of a run into what one run gives, within 1e-6 of the largest score; one shard is
// in memory at a time. Throws Error naming the shard that is none or of another run, and those that
// are missing or double.
ScoreMap merge_probes(const std::vector<std::string>& names,
                      const std::function<ScoreMap(const std::string& name)>& load);

}  // namespace poslens
