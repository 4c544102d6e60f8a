#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/options.h"
#include "cli/part_options.h"
#include "poslens/error.h"
#include "poslens/hub_cache.h"
#include "poslens/probe.h"

namespace poslens::cli {
namespace {

struct Options {
  ModelOptions model;
  ProbeOptions probe;  // its decoder options are those of `model`
  RunCheckpoint checkpoint;
  const CLI::Option* seed = nullptr;
  OutputOptions output;
};

void run(Options& options) {
  ModelOptions& model_options = options.model;
  model_options.validate();
  if (options.seed->count() > 0 && !options.probe.shuffle) {
    throw UsageError(fmt::format("--seed {}: expected --shuffle within too", model_options.seed));
  }
  prepare_checkpoint(options.checkpoint, options.output);
  const LoadedModel model = load_model(find_model(model_options.model));
  model_options.decoder.validate(poslens::apply(model.spec, options.probe.interventions));
  const Corpus corpus = read_corpus(model, model_options.corpus, options.probe.interventions);

  options.probe.decoder = model_options.decoder;
  options.probe.seed = model_options.seed;
  ScoreMap map = probe(model, corpus, options.probe, options.checkpoint);
  map.provenance.command_line = command_line();
  save(map, options.output.out);
  remove_checkpoint(options.checkpoint);

  const Shard shard = options.probe.shard.value_or(Shard());
  const std::int64_t sequences = shard.of(corpus.batch.sequences()).size();
  const auto tokens = static_cast<double>(sequences * corpus.batch.length);
  std::cout << fmt::format("{}: {} layers over {:.0f} tokens in {:.1f} s ({:.0f} tokens/s){}\n",
                           options.output.out.string(), map.layers.size(), tokens,
                           map.provenance.seconds, tokens / map.provenance.seconds,
                           changes_in_words(map.provenance));
}

}  // namespace

void add_probe(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("probe", "One pass of a model over text or token ids -> artefact");
  command->footer(
      "Example:\n  poslens probe model.gguf --text book.txt --layers 0-3 --groups 8 --intervene "
      "rope=none --out no-rope.npz");
  DecoderOptions& decoder = options->model.decoder;
  add_model_options(*command, options->model);
  options->seed = command->get_option("--seed");
  command->add_flag("--per-head", decoder.per_head, "Keep the map of every head");
  command->add_flag("--probs", decoder.probs, "Keep mean attention probabilities");
  command->add_flag("--variance", decoder.variance, "Keep the variance over sequences");
  command->add_flag("--hidden", decoder.hidden,
                    "Keep the mean residual stream by position: what enters each layer and what "
                    "leaves the last");
  CLI::Option* decode = command->add_flag(
      "--decode", decoder.decode,
      "Fit the position of a token to its state at the same places, on the first half of the "
      "sequences, and keep how well that does on the others");
  command->add_flag("--gram", decoder.gram,
                    "Keep the Gram maps of what passes through each layer: mean inner products of "
                    "its positions at nine places");
  add_number(
      *command, "--pool", decoder.pool,
      "Keep maps as means over N x N blocks of positions, and exact means of diagonals, rows "
      "and columns: for long sequences");
  add_intervene_option(*command, options->probe.interventions);
  command
      ->add_option_function<std::string>(
          "--shuffle",
          [options](const std::string& text) {
            if (text != "within") throw UsageError("--shuffle " + text + ": expected within");
            options->probe.shuffle = true;
          },
          "within: put the tokens of each sequence in random order")
      ->type_name("within");
  add_part_options(*command, options->probe.shard, options->checkpoint);
  decode->excludes("--shard");
  add_output_options(*command, options->output);
  add_common_options(*command);
  command->callback([options] { run(*options); });
}

}  // namespace poslens::cli
