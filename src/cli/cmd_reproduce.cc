#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "poslens/error.h"
#include "poslens/reproduce.h"

namespace poslens::cli {
namespace {

void print(const std::vector<Comparison>& comparisons) {
  fmt::print("{:<26} {:<12} {:>6} {:>18} {:>10} {:>15}\n", "panel", "route", "pairs",
             "largest deviation", "tolerance", "standard error");
  for (const Comparison& comparison : comparisons) {
    const bool simulated = std::isfinite(comparison.standard_error);
    fmt::print("{:<26} {:<12} {:>6} {:>18.5f} {:>10} {:>15}  {}\n",
               comparison.figure + " " + comparison.panel, comparison.route, comparison.pairs,
               comparison.largest_deviation, comparison.tolerance,
               simulated ? fmt::format("{:.5f}", comparison.standard_error) : "",
               comparison.ok() ? "ok" : "TOO FAR");
  }
}

void run(ReproduceOptions& options) {
  if (options.folder.empty()) throw UsageError("reproduce: expected --out FOLDER");
  options.command_line = command_line();
  const std::vector<Comparison> comparisons = reproduce(options);
  print(comparisons);
  for (const Comparison& comparison : comparisons) {
    if (comparison.ok()) continue;
    throw Error(fmt::format("reproduce: {} {}: {} is {:.5f} from the published values, {} allowed",
                            comparison.figure, comparison.panel, comparison.route,
                            comparison.largest_deviation, comparison.tolerance));
  }
}

}  // namespace

void add_reproduce(CLI::App& app) {
  struct Options {
    ReproduceOptions reproduce;
    bool list = false;
  };
  const auto options = std::make_shared<Options>();
  ReproduceOptions& reproduce = options->reproduce;
  CLI::App* command = app.add_subcommand(
      "reproduce", "Figures of arXiv 2509.21042, compared with the published values");
  command->footer("Example:\n  poslens reproduce fig1 fig2 fig4 --out figures");
  command->add_option("targets", reproduce.targets, "What to make; see --list");
  command->add_flag("--list", options->list, "Print what can be made");
  command->add_option("--samples", reproduce.samples, "Samples of each simulation")
      ->capture_default_str();
  command->add_option("--seed", reproduce.seed, "Seed of the random numbers")
      ->capture_default_str();
  command->add_option("-o,--out", reproduce.folder, "Folder where the results go")
      ->type_name("FOLDER");
  command->add_flag("--force", reproduce.force, "Write into a folder that is not empty");
  add_common_options(*command);
  command->callback([options] {
    if (!options->list) return run(options->reproduce);
    for (const auto& [name, title] : reproduce_targets()) fmt::print("{}  {}\n", name, title);
  });
}

}  // namespace poslens::cli
