#include "poslens/probe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>
#include <utility>

#include "poslens/error.h"
#include "poslens/resources.h"
#include "poslens/threads.h"
#include "poslens/version.h"

namespace poslens {
namespace {

// merge.cc undoes "3 of" in "3 of 10 sequences".
std::string averaging(const Corpus& corpus, const ModelSpec& spec, const ProbeOptions& options,
                      const WorkRange& part) {
  std::string words = "mean over ";
  if (options.shard) words += fmt::format("{} of ", part.size());
  words += fmt::format("{} sequences and {} heads", corpus.batch.sequences(),
                       spec.layers.front().attention.query_heads);
  const std::int64_t pool = options.decoder.pool;
  if (pool > 1) words += fmt::format(", and over blocks of {0} x {0} positions", pool);
  if (options.shuffle) words += ", the tokens of each sequence in random order";
  return words;
}

std::vector<std::pair<std::string, std::string>> option_list(const Corpus& corpus,
                                                             const ModelSpec& spec,
                                                             const ProbeOptions& options) {
  const DecoderOptions& decoder = options.decoder;
  std::vector<int> layers = decoder.layers;
  if (layers.empty()) {
    layers.resize(spec.layers.size());
    std::iota(layers.begin(), layers.end(), 0);
  }
  std::vector<std::pair<std::string, std::string>> list = {
      {"length", std::to_string(corpus.batch.length)},
      {"sequences", std::to_string(corpus.batch.sequences())},
      {"cut", to_string(corpus.cut)},
      {"layers", fmt::format("{}", fmt::join(layers, ","))},
      {"dtype", to_string(decoder.compute_type)},
      {"groups", std::to_string(decoder.groups)},
      {"pool", std::to_string(decoder.pool)},
      {"memory", std::to_string(decoder.memory_bytes)},
      {"threads", std::to_string(thread_count())}};
  for (const auto& [name, on] :
       {std::pair("per-head", decoder.per_head), std::pair("probs", decoder.probs),
        std::pair("variance", decoder.variance), std::pair("hidden", decoder.hidden),
        std::pair("gram", decoder.gram)}) {
    if (on) list.emplace_back(name, "on");
  }
  if (decoder.decode) {
    list.emplace_back("decode",
                      spec.hidden > decoder.decode_width
                          ? fmt::format("states of {} dimensions, projected at random to {}",
                                        spec.hidden, decoder.decode_width)
                          : fmt::format("states of {} dimensions", spec.hidden));
  }
  if (options.shuffle) list.emplace_back("shuffle", "within");
  if (options.shard) list.emplace_back("shard", options.shard->text());
  return list;
}

// All but the seconds, the memory and the command line.
Provenance provenance_of(const LoadedModel& model, const ModelSpec& spec, const Corpus& corpus,
                         const ProbeOptions& options, const WorkRange& part) {
  Provenance provenance;
  provenance.averaging = averaging(corpus, spec, options, part);
  provenance.options = option_list(corpus, spec, options);
  provenance.model = spec.name;
  provenance.model_fingerprint = model.checkpoint->fingerprint();
  provenance.bos_policy = corpus.bos_policy;
  for (const Intervention& intervention : options.interventions) {
    provenance.interventions.push_back(intervention.text);
    provenance.changes.push_back(describe(intervention, model.spec));
  }
  provenance.text = corpus.source;
  provenance.text_fingerprint = corpus.fingerprint;
  provenance.documents_used = corpus.documents_used;
  provenance.documents_skipped = corpus.documents_skipped;
  provenance.seed = options.seed;
  provenance.program = std::string("poslens ") + kVersion;
  return provenance;
}

WorkRange part_of(const Corpus& corpus, const ProbeOptions& options) {
  const std::int64_t sequences = corpus.batch.sequences();
  const Shard shard = options.shard.value_or(Shard());
  if (shard.count > sequences) {
    throw UsageError(
        fmt::format("--shard {}: expected at most as many shards as there are sequences, {}",
                    shard.text(), sequences));
  }
  return shard.of(sequences);
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

Provenance expected_provenance(const LoadedModel& model, const Corpus& corpus,
                               const ProbeOptions& options) {
  return provenance_of(model, apply(model.spec, options.interventions), corpus, options,
                       part_of(corpus, options));
}

ScoreMap probe(const LoadedModel& model, const Corpus& corpus, const ProbeOptions& options,
               const RunCheckpoint& checkpoint) {
  const ModelSpec spec = apply(model.spec, options.interventions);
  if (spec.bos != BosPolicy::file && spec.bos != corpus.bos) {
    throw Error(corpus.source + ": was read with another BOS policy than the intervention's");
  }
  DecoderOptions decoder = options.decoder;
  decoder.part = part_of(corpus, options);
  Provenance provenance = provenance_of(model, spec, corpus, options, *decoder.part);
  CheckpointClock clock(checkpoint.interval);
  double seconds_before = 0;
  RunHooks hooks;
  if (checkpoint.resume && std::filesystem::exists(checkpoint.file)) {
    hooks.start = [&](RunState& state) {
      seconds_before = load_state(provenance, state, checkpoint.file);
      if (state.done < 0 || state.done >= decoder.part->size()) {
        throw Error(fmt::format("{}: done: expected less than {} sequences, found {}",
                                checkpoint.file.string(), decoder.part->size(), state.done));
      }
    };
  }
  if (!checkpoint.file.empty()) {
    hooks.save = [&](const RunState& state) {
      clock.tick([&] {
        provenance.seconds = seconds_before + clock.seconds();
        save_state(provenance, state, checkpoint.file);
      });
    };
  }
  const TokenBatch shuffled =
      options.shuffle ? shuffle_within(corpus.batch, options.seed, corpus.starts_with_bos)
                      : TokenBatch();
  ScoreMap map = run_decoder(*model.checkpoint, spec, options.shuffle ? shuffled : corpus.batch,
                             decoder, hooks);
  map.provenance = std::move(provenance);
  map.provenance.seconds = seconds_before + clock.seconds();
  map.provenance.peak_memory_bytes = peak_memory_bytes();
  return map;
}

}  // namespace poslens
