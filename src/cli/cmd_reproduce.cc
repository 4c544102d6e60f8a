#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/options.h"
#include "poslens/error.h"
#include "poslens/reproduce.h"
#include "report/model_figures.h"
#include "report/words.h"

namespace poslens::cli {
namespace {

std::string number(double value, int digits) {
  return std::isnan(value) ? "" : fmt::format("{:.{}f}", value, digits);
}

void print(const std::vector<Comparison>& comparisons) {
  std::size_t width = 5;
  for (const Comparison& comparison : comparisons) {
    width = std::max(width, comparison.figure.size() + 1 + comparison.panel.size());
  }
  fmt::print("{:<{}} {:<12} {:>6} {:>18} {:>10} {:>15}  {:<11} {:>7}\n", "panel", width, "route",
             "values", "largest deviation", "tolerance", "standard error", "against", "RP");
  for (const Comparison& comparison : comparisons) {
    fmt::print("{:<{}} {:<12} {:>6} {:>18} {:>10} {:>15}  {:<11} {:>7}  {}\n",
               comparison.figure + " " + comparison.panel, width, comparison.route,
               comparison.values, number(comparison.largest_deviation, 5),
               number(comparison.tolerance, 5), number(comparison.standard_error, 5),
               comparison.reference.empty() ? "nothing" : comparison.reference,
               number(comparison.value, 4),
               comparison.reference.empty() ? ""
               : comparison.ok()            ? "ok"
                                            : "TOO FAR");
  }
}

void print(const std::vector<Claim>& claims) {
  fmt::print("Checked on the grid {}:\n", claims.front().grid);
  std::size_t width = 0;
  for (const Claim& claim : claims) width = std::max(width, claim.statement.size());
  for (const Claim& claim : claims) {
    fmt::print("{:<{}}  {}\n", claim.statement, width, claim.where);
  }
}

// Layers from 1, as the figures count them.
void print(const ModelRun& run) {
  fmt::print("{}: {}, {} sequences of {} tokens in {} groups{}\n", run.figures, run.model,
             run.sequences, run.length, run.groups,
             run.rotary ? "" : "; without RoPE, unlike the models that the paper speaks of");
  fmt::print("{:>5}  {:<30}  {:<30}  {}\n", "layer", "non-relative share", "without the first key",
             "nearness");
  for (std::size_t place = 0; place < run.layers.size(); ++place) {
    const LayerMeasures& layer = run.layers[place];
    const auto with_verdict = [&](const std::string& text, std::size_t claim) {
      return fmt::format("{}  {}", text, to_string(run.claims[claim].verdicts[place]));
    };
    fmt::print("{:>5}  {:<30}  {:<30}  {}\n", layer.layer + 1,
               with_verdict(percent(layer.all_keys.nonrelative_share), 0),
               with_verdict(percent(layer.without_first_key.nonrelative_share), 1),
               with_verdict(with_error(layer.nearness), 2));
  }
  std::size_t width = 0;
  for (const ModelClaim& claim : run.claims) width = std::max(width, claim.statement.size());
  for (const ModelClaim& claim : run.claims) {
    fmt::print("{:<{}}  shown in {} of {} layers{}\n", claim.statement, width, claim.shown(),
               claim.meant(), claim.meant() < std::ssize(claim.verdicts) ? " after the first" : "");
  }
}

void print(const std::vector<ModelRun>& runs) {
  fmt::print(
      "The paper: causal mask and RoPE together bend relative patterns into non-relative ones, in "
      "every language model it looks at. Value ± standard error; shown: the 95 % interval is on "
      "the "
      "claim's side of 0.\n");
  for (const ModelRun& run : runs) print(run);
}

void run(ReproduceOptions& options) {
  if (options.folder.empty()) throw UsageError("reproduce: expected --out FOLDER");
  options.command_line = command_line();
  const Reproduction made = reproduce(options);
  if (!made.comparisons.empty()) print(made.comparisons);
  if (!made.claims.empty()) print(made.claims);
  if (!made.models.empty()) print(made.models);
  for (const Comparison& comparison : made.comparisons) {
    if (comparison.ok()) continue;
    throw Error(fmt::format("reproduce: {} {}: {} is {:.5f} from {}, {:.5f} allowed",
                            comparison.figure, comparison.panel, comparison.route,
                            comparison.largest_deviation,
                            comparison.reference == "published" ? "the published values"
                            : comparison.reference == "exact"   ? "the exact value"
                                                                : "the mean field",
                            comparison.tolerance));
  }
}

void list() {
  fmt::print("{:<9} {:>8} {:>6}  {}\n", "target", "samples", "about", "what");
  for (const ReproduceTarget& target : reproduce_targets()) {
    fmt::print("{:<9} {:>8} {:>6}  {}{}\n", target.name,
               target.samples == 0 ? "" : std::to_string(target.samples),
               target.seconds == 0 ? "" : fmt::format("{:.0f} s", target.seconds), target.title,
               target.needs.empty() ? "" : fmt::format("; needs {}", target.needs));
  }
}

struct Options {
  ReproduceOptions reproduce;
  bool list = false;
};

// Whose defaults are those of each figure.
constexpr std::pair<const char*, const char*> kFigureDefaults[] = {
    {"--length", "Tokens of a sequence (default: the paper's 1024)"},
    {"--sequences", "Sequences (default: the paper's; see --list)"},
    {"--layers", "Layers, counted from 0 (default: those of the figure)"},
    {"--groups",
     "Interleaved groups of sequences, for standard errors: 3 or more (default: 8, or the "
     "sequences)"}};

void add_language_options(CLI::App& command, Options& options) {
  ReproduceModels& language = options.reproduce.language;
  command
      .add_option(
          "--model", language.models,
          "For fig5 and fig11 to fig16: GGUF file, Hugging Face folder or org/name in its "
          "cache; repeatable: a row each in fig5; the first in fig11 and fig12, the second in "
          "fig13 and fig14, the third in fig15 and fig16")
      ->expected(1)
      ->take_all()
      ->type_name("FILE|DIR|ID");
  add_run_options(command, language.corpus, language.decoder);
  for (const auto& [name, help] : kFigureDefaults) {
    command.get_option(name)->default_str("")->description(help);
  }
  command.add_flag("--reference-compat", language.reference_compat,
                   "Draw fig11 to fig16 as published: sums over the sequences divided by 50");
}

// Options of language models with targets that have none, or --samples with nothing but such.
void refuse_idle_options(const CLI::App& command, const Options& options) {
  const std::vector<std::string>& targets = options.reproduce.targets;
  const auto of_models = std::count_if(targets.begin(), targets.end(), [](const std::string& name) {
    return find_model_figure(name) != nullptr;
  });
  if (of_models == 0) {
    for (const char* option :
         {"--length", "--sequences", "--layers", "--groups", "--cut", "--dtype", "--memory"}) {
      if (command.count(option) == 0) continue;
      throw UsageError(fmt::format(
          "{}: expected with one or more of fig5 and fig11 to fig16, which are of language models",
          option));
    }
  } else if (of_models == std::ssize(targets) && command.count("--samples") > 0) {
    throw UsageError("--samples: expected with a target that is simulated; see --list");
  }
}

void take_language_options(const CLI::App& command, Options& options) {
  ReproduceModels& language = options.reproduce.language;
  if (command.count("--length") > 0) language.length = language.corpus.length;
  if (command.count("--sequences") > 0) language.sequences = language.corpus.sequences;
  if (command.count("--groups") > 0) language.groups = language.decoder.groups;
}

}  // namespace

void add_reproduce(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  ReproduceOptions& reproduce = options->reproduce;
  CLI::App* command = app.add_subcommand(
      "reproduce",
      "Figures, tables and claims of arXiv 2509.21042, compared with the published values");
  command->footer(
      "Example:\n  poslens reproduce fig2 rp-table theory --out figures\n"
      "  poslens reproduce fig5 fig11 fig12 --model model.gguf --text books/ --sequences 64 --out "
      "llm");
  command->add_option("targets", reproduce.targets, "What to make; see --list");
  command->add_flag("--list", options->list,
                    "Print what can be made, with its samples and the time on two cores");
  command
      ->add_option_function<std::string>(
          "--samples",
          [&reproduce](const std::string& text) {
            reproduce.samples = parse_number<std::int64_t>("--samples", text);
          },
          "Samples of each simulation (default: see --list; the paper's RP have 10000000)")
      ->type_name("N");
  command->add_option("--seed", reproduce.seed, "Seed of the random numbers")
      ->capture_default_str();
  command->add_option("-o,--out", reproduce.folder, "Folder where the results go")
      ->type_name("FOLDER");
  command->add_flag("--force", reproduce.force, "Write into a folder that is not empty");
  add_language_options(*command, *options);
  add_common_options(*command);
  command->callback([command, options] {
    if (options->list) return list();
    refuse_idle_options(*command, *options);
    take_language_options(*command, *options);
    run(options->reproduce);
  });
}

}  // namespace poslens::cli
