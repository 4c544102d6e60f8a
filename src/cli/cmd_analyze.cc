#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <vector>

#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/options.h"
#include "poslens/analysis.h"
#include "poslens/hub_cache.h"

namespace poslens::cli {
namespace {

struct Options {
  ModelOptions model;
  std::vector<Intervention> interventions;
  bool keep_groups = false;
  bool resume = false;
  double checkpoint_interval = 5;
  OutputOptions output;
};

void run(const Options& options) {
  options.model.validate();
  AnalysisOptions analysis_options;
  analysis_options.decoder = options.model.decoder;
  analysis_options.decoder.decode = options.model.corpus.sequences >= 4;
  analysis_options.interventions = options.interventions;
  analysis_options.seed = options.model.seed;
  analysis_options.folder = options.output.out;
  analysis_options.keep_groups = options.keep_groups;
  analysis_options.force = options.output.force;
  analysis_options.resume = options.resume;
  analysis_options.checkpoint_interval = options.checkpoint_interval;
  analysis_options.command_line = command_line();
  analysis_options.validate(options.model.corpus.length, options.model.corpus.sequences);
  check_analysis_folder(analysis_options);
  const LoadedModel model = load_model(find_model(options.model.model));
  options.model.decoder.validate(poslens::apply(model.spec, options.interventions));
  const Corpus corpus = read_corpus(model, options.model.corpus, options.interventions);
  const Analysis analysis = analyze(model, corpus, analysis_options);
  std::cout << analysis.answer << "\n\nReport: " << (options.output.out / "report.html").string()
            << '\n';
}

}  // namespace

void add_analyze(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  options->model.decoder.groups = 8;
  CLI::App* command = app.add_subcommand(
      "analyze", "The main job: baseline, interventions and controls -> a folder with a report");
  command->footer(
      "Example:\n  poslens analyze model.gguf --text books/ --length 512 --out results");
  add_model_options(*command, options->model);
  add_intervene_option(*command, options->interventions);
  command->add_flag("--keep-groups", options->keep_groups,
                    "Keep the maps of groups of sequences in the artefacts");
  command->add_flag("--resume", options->resume,
                    "Go on with what an interrupted analysis left in the folder, where it did");
  add_number(*command, "--checkpoint", options->checkpoint_interval,
             "Seconds, at least, between writing the state of a run of the model");
  add_output_options(*command, options->output);
  add_common_options(*command);
  command->callback([options] { run(*options); });
}

}  // namespace poslens::cli
