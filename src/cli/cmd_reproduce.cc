#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "poslens/error.h"
#include "poslens/reproduce.h"

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

void run(ReproduceOptions& options) {
  if (options.folder.empty()) throw UsageError("reproduce: expected --out FOLDER");
  options.command_line = command_line();
  const Reproduction made = reproduce(options);
  if (!made.comparisons.empty()) print(made.comparisons);
  if (!made.claims.empty()) print(made.claims);
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
    fmt::print("{:<9} {:>8} {:>4.0f} s  {}\n", target.name,
               target.samples == 0 ? "" : std::to_string(target.samples), target.seconds,
               target.title);
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
      "reproduce",
      "Figures, tables and claims of arXiv 2509.21042, compared with the published values");
  command->footer("Example:\n  poslens reproduce fig2 rp-table theory --out figures");
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
  add_common_options(*command);
  command->callback([options] {
    if (!options->list) return run(options->reproduce);
    list();
  });
}

}  // namespace poslens::cli
