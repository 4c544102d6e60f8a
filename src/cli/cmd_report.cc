#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/options.h"
#include "poslens/atomic_file.h"
#include "poslens/error.h"
#include "poslens/map_report.h"

namespace poslens::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> maps;
  std::vector<std::string> labels;
  std::string title;
  OutputOptions output;
};

// What each map is called: as asked, else its file's name, else its path where names are alike.
std::vector<std::string> labels_of(const Options& options) {
  if (!options.labels.empty() && options.labels.size() != options.maps.size()) {
    throw UsageError(fmt::format("--label: expected one for each of {} maps, found {}",
                                 options.maps.size(), options.labels.size()));
  }
  std::vector<std::string> labels = options.labels;
  if (labels.empty()) {
    for (const std::string& map : options.maps) labels.push_back(fs::path(map).stem().string());
  }
  for (std::size_t k = 0; k < labels.size(); ++k) {
    if (std::count(labels.begin(), labels.end(), labels[k]) == 1) continue;
    if (options.labels.empty()) return options.maps;
    throw UsageError(fmt::format("--label {}: expected labels that differ", labels[k]));
  }
  return labels;
}

void run(const Options& options) {
  const fs::path& page = options.output.out;
  if (page.extension() != ".html") {
    throw UsageError(fmt::format("--out {}: expected a file that ends in .html", page.string()));
  }
  const auto beside = [&](const char* suffix) { return fs::path(page).replace_extension(suffix); };
  const char* suffixes[] = {".html", ".measures.csv", ".curves.csv", ".loss.csv", ".decoding.csv"};
  for (const char* suffix : suffixes) check_output(beside(suffix), options.output.force);
  const std::vector<std::string> labels = labels_of(options);

  std::vector<CellResult> cells;
  for (std::size_t k = 0; k < labels.size(); ++k) {
    ScoreMap map = load_score_map(options.maps[k]);
    if (k > 0) check_same_shape(cells[0].map, options.maps[0], map, options.maps[k]);
    cells.push_back(measured_cell(labels[k], std::move(map)));
  }
  const MapReport report = map_report(cells, options.title);
  for (const auto& [suffix, text] :
       {std::pair(".measures.csv", &report.measures_csv),
        std::pair(".curves.csv", &report.curves_csv), std::pair(".loss.csv", &report.loss_csv),
        std::pair(".decoding.csv", &report.decoding_csv)}) {
    if (!text->empty()) write_text_atomically(beside(suffix), *text);
  }
  write_text_atomically(page, report.html);
  std::cout << fmt::format("Report: {}\n", page.string());
}

}  // namespace

void add_report(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "report", "Maps of any source -> one self-contained HTML page, its numbers as CSV beside it");
  command->footer(
      "Example:\n  poslens report causal.npz full.npz --label causal --label full --out "
      "report.html");
  command
      ->add_option("maps", options->maps,
                   "Artefacts (.npz) with the same positions and layers, to switch between")
      ->required()
      ->type_name("MAP...");
  command
      ->add_option("--label", options->labels,
                   "What a map is called, one for each in their order (default: its file's name)")
      ->expected(1)
      ->take_all()
      ->type_name("TEXT");
  command->add_option("--title", options->title, "Title of the page (default: after the model)")
      ->type_name("TEXT");
  add_output_options(*command, options->output);
  add_common_options(*command);
  command->callback([options] { run(*options); });
}

}  // namespace poslens::cli
