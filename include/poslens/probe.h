#pragma once
// One pass of a model over a corpus, to an artefact.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "poslens/checkpoint.h"
#include "poslens/corpus.h"
#include "poslens/decoder.h"
#include "poslens/intervention.h"
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

struct ProbeOptions {
  DecoderOptions decoder;
  std::vector<Intervention> interventions;
  bool shuffle = false;  // the tokens within each sequence
  std::uint64_t seed = 0;
};

// Fills everything but command_line of the map's provenance.
ScoreMap probe(const LoadedModel& model, const Corpus& corpus, const ProbeOptions& options);

}  // namespace poslens
