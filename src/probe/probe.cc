#include "poslens/probe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <utility>

#include "poslens/error.h"
#include "poslens/resources.h"
#include "poslens/threads.h"
#include "poslens/version.h"

namespace poslens {
namespace {

std::string averaging(const Corpus& corpus, const ModelSpec& spec, const ProbeOptions& options) {
  std::string words = fmt::format("mean over {} sequences and {} heads", corpus.batch.sequences(),
                                  spec.layers.front().attention.query_heads);
  if (options.shuffle) words += ", the tokens of each sequence in random order";
  return words;
}

std::vector<std::pair<std::string, std::string>> option_list(const Corpus& corpus,
                                                             const ProbeOptions& options,
                                                             const std::vector<int>& layers) {
  const DecoderOptions& decoder = options.decoder;
  std::vector<std::pair<std::string, std::string>> list = {
      {"length", std::to_string(corpus.batch.length)},
      {"sequences", std::to_string(corpus.batch.sequences())},
      {"cut", to_string(corpus.cut)},
      {"layers", fmt::format("{}", fmt::join(layers, ","))},
      {"dtype", to_string(decoder.compute_type)},
      {"groups", std::to_string(decoder.groups)},
      {"memory", std::to_string(decoder.memory_bytes)},
      {"threads", std::to_string(thread_count())}};
  if (options.shuffle) list.emplace_back("shuffle", "within");
  return list;
}

}  // namespace

LoadedModel load_model(const std::filesystem::path& path) {
  LoadedModel model;
  model.checkpoint = Checkpoint::open(path);
  model.spec = read_model_spec(*model.checkpoint);
  try {
    model.tokenizer = Tokenizer::open(*model.checkpoint);
  } catch (const Error& error) {
    model.why_no_tokenizer = error.what();
  }
  return model;
}

Corpus read_corpus(const LoadedModel& model, CorpusOptions options,
                   const std::vector<Intervention>& interventions) {
  const BosPolicy changed = apply(model.spec, interventions).bos;
  if (changed != BosPolicy::file) options.bos = changed;
  const bool needs_tokenizer = !options.text.empty() || options.bos != BosPolicy::file;
  if (needs_tokenizer && model.tokenizer == nullptr) throw Error(model.why_no_tokenizer);
  return read_corpus(options, model.tokenizer.get(), model.spec.vocabulary);
}

ScoreMap probe(const LoadedModel& model, const Corpus& corpus, const ProbeOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const ModelSpec spec = apply(model.spec, options.interventions);
  if (spec.bos != BosPolicy::file && spec.bos != corpus.bos) {
    throw Error(corpus.source + ": was read with another BOS policy than the intervention's");
  }
  ScoreMap map =
      options.shuffle
          ? run_decoder(*model.checkpoint, spec,
                        shuffle_within(corpus.batch, options.seed, corpus.starts_with_bos),
                        options.decoder)
          : run_decoder(*model.checkpoint, spec, corpus.batch, options.decoder);
  Provenance& provenance = map.provenance;
  provenance.averaging = averaging(corpus, spec, options);
  provenance.options = option_list(corpus, options, map.layers);
  provenance.model = spec.name;
  provenance.model_fingerprint = model.checkpoint->fingerprint();
  provenance.bos_policy = corpus.bos_policy;
  for (const Intervention& intervention : options.interventions) {
    provenance.interventions.push_back(intervention.text);
  }
  provenance.text = corpus.source;
  provenance.text_fingerprint = corpus.fingerprint;
  provenance.documents_used = corpus.documents_used;
  provenance.documents_skipped = corpus.documents_skipped;
  provenance.seed = options.seed;
  provenance.program = std::string("poslens ") + kVersion;
  provenance.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  provenance.peak_memory_bytes = peak_memory_bytes();
  return map;
}

}  // namespace poslens
