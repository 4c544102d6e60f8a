#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/options.h"
#include "poslens/atomic_file.h"
#include "poslens/decomposition.h"
#include "poslens/error.h"
#include "poslens/figure.h"
#include "poslens/intervention.h"
#include "poslens/score_map.h"

namespace poslens::cli {
namespace {

struct PlotOptions {
  std::filesystem::path map;
  OutputOptions output;
  std::vector<int> layers;  // empty: all
  bool diagonal_normalised = false;
  int columns = 4;
  std::optional<std::pair<double, double>> range;
};

// "A:B" with A < B.
std::pair<double, double> parse_range(const std::string& text) {
  std::pair<double, double> range;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, range.first);
  if (first.ec == std::errc{} && first.ptr != end && *first.ptr == ':') {
    const auto second = std::from_chars(first.ptr + 1, end, range.second);
    if (second.ec == std::errc{} && second.ptr == end && std::isfinite(range.first) &&
        std::isfinite(range.second) && range.first < range.second) {
      return range;
    }
  }
  throw UsageError("--range " + text + ": expected A:B with numbers A < B");
}

bool parse_view(const std::string& text) {
  if (text == "raw") return false;
  if (text == "diagonal-normalised") return true;
  throw UsageError("--view " + text + ": expected raw or diagonal-normalised");
}

std::string title_of(const ScoreMap& map, const PlotOptions& options) {
  const std::int64_t samples =
      map.count.empty() ? 0 : *std::max_element(map.count.begin(), map.count.end());
  const std::string& model = map.provenance.model;
  std::string title = (model.empty() ? to_string(map.source) : model) + ": mean scores";
  if (options.diagonal_normalised) title += ", diagonal-normalised";
  return map.source == Source::theory ? title : title + fmt::format(" ({} samples)", samples);
}

void run(const PlotOptions& options) {
  check_figure_name(options.output.out);
  check_output(options.output.out, options.output.force);
  const ScoreMap map = load_score_map(options.map);
  std::vector<Panel> panels;
  for (const int layer : options.layers.empty() ? map.layers : options.layers) {
    const MatrixView<const float> scores = map.layer(map.place_of(layer));
    Panel panel;
    panel.title = fmt::format("layer {}", layer + 1);
    panel.values =
        options.diagonal_normalised ? diagonal_normalised(scores) : Matrix<float>(scores);
    panel.range = options.range;
    panels.push_back(std::move(panel));
  }
  FigureOptions figure;
  figure.title = title_of(map, options);
  figure.columns = options.columns;
  if (map.pool > 1) {
    figure.x_label += fmt::format(" / {}", map.pool);
    figure.y_label += fmt::format(" / {}", map.pool);
  }
  draw_heat_maps(panels, figure, options.output.out);
}

}  // namespace

void add_plot(CLI::App& app) {
  const auto options = std::make_shared<PlotOptions>();
  CLI::App* command = app.add_subcommand(
      "plot", "Map -> figure (.svg, .pdf or .png); its gnuplot script and data stay beside it");
  command->footer(
      "Example:\n  poslens plot map.npz --view diagonal-normalised --layers 0-3 --out map.svg");
  command->add_option("map", options->map, "Artefact (.npz)")->required()->type_name("MAP");
  command
      ->add_option_function<std::string>(
          "--layers",
          [options](const std::string& text) { options->layers = parse_layers(text, "--layers"); },
          "Layers, counted from 0 (default all)")
      ->type_name("0-3,7");
  command
      ->add_option_function<std::string>(
          "--view",
          [options](const std::string& text) { options->diagonal_normalised = parse_view(text); },
          "raw or diagonal-normalised (default raw)")
      ->type_name("VIEW");
  command->add_option("--columns", options->columns, "Panels per row")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command
      ->add_option_function<std::string>(
          "--range", [options](const std::string& text) { options->range = parse_range(text); },
          "Scores of the first and last colour (default: 1 % and 99 % quantiles of each panel)")
      ->type_name("A:B");
  add_output_options(*command, options->output);
  add_common_options(*command);
  command->callback([options] { run(*options); });
}

}  // namespace poslens::cli
