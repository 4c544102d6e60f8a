#include "poslens/reproduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "poslens/atomic_file.h"
#include "poslens/decomposition.h"
#include "poslens/error.h"
#include "poslens/figure.h"
#include "poslens/simulation.h"
#include "poslens/theory.h"
#include "report/comparison.h"
#include "report/paper_figures.h"
#include "report/worked_example.h"

namespace poslens {
namespace {

constexpr const char* kWorkedExample = "fig1";

SimulationOptions simulation_of(const PaperRow& row, const ReproduceOptions& options) {
  SimulationOptions simulation;
  simulation.spec = row.spec;
  simulation.samples = options.samples;
  simulation.seed = options.seed;
  simulation.variance = true;
  return simulation;
}

// The figure as the paper lays it out; maps: one for each row.
std::vector<Panel> panels_of(const PaperFigure& figure, const std::vector<ScoreMap>& maps) {
  std::vector<Panel> panels;
  for (const bool normalised : {false, true}) {
    if (normalised && !figure.diagonal_normalised) continue;
    for (std::size_t row = 0; row < maps.size(); ++row) {
      for (std::size_t place = 0; place < maps[row].layers.size(); ++place) {
        const MatrixView<const float> map = maps[row].layer(place);
        Panel panel;
        panel.title =
            fmt::format("{}, layer {}", normalised ? "diagonal-normalised" : figure.rows[row].title,
                        maps[row].layers[place] + 1);
        panel.values = normalised ? diagonal_normalised(map) : Matrix<float>(map);
        if (!normalised) panel.range = figure.range;
        panels.push_back(std::move(panel));
      }
    }
  }
  return panels;
}

std::vector<Comparison> reproduce_figure(const PaperFigure& figure,
                                         const ReproduceOptions& options) {
  std::vector<Comparison> comparisons;
  for (const bool simulated : {true, false}) {
    const char* route = simulated ? "simulation" : "mean-field";
    std::vector<ScoreMap> maps;
    for (const PaperRow& row : figure.rows) {
      ScoreMap map = simulated ? simulate(simulation_of(row, options)) : mean_field_map(row.spec);
      map.provenance.command_line = options.command_line;
      save(map, options.folder / fmt::format("{}-{}-{}.npz", figure.name, row.name, route));
      const std::vector<Comparison> compared = compare(figure, row, map);
      comparisons.insert(comparisons.end(), compared.begin(), compared.end());
      maps.push_back(std::move(map));
    }
    FigureOptions drawing;
    drawing.title = figure.title + (simulated ? fmt::format(" ({} samples)", options.samples)
                                              : std::string(" (mean field)"));
    drawing.columns = static_cast<int>(maps.front().layers.size());
    for (const char* extension : {"svg", "png"}) {
      draw_heat_maps(panels_of(figure, maps), drawing,
                     options.folder / fmt::format("{}-{}.{}", figure.name, route, extension));
    }
  }
  return comparisons;
}

void write_csv(const std::vector<Comparison>& comparisons, const std::filesystem::path& path) {
  std::string text = "figure,panel,route,pairs,largest_deviation,tolerance,standard_error,ok\n";
  for (const Comparison& comparison : comparisons) {
    text += fmt::format(
        "{},{},{},{},{:.6f},{:g},{},{}\n", comparison.figure, comparison.panel, comparison.route,
        comparison.pairs, comparison.largest_deviation, comparison.tolerance,
        std::isfinite(comparison.standard_error) ? fmt::format("{:.6f}", comparison.standard_error)
                                                 : "",
        comparison.ok() ? 1 : 0);
  }
  write_text_atomically(path, text);
}

const PaperFigure* find_figure(const std::string& name) {
  for (const PaperFigure& figure : paper_figures()) {
    if (figure.name == name) return &figure;
  }
  return nullptr;
}

}  // namespace

void ReproduceOptions::validate() const {
  std::string known;
  for (const auto& [name, title] : reproduce_targets()) known += " " + name;
  if (targets.empty()) throw UsageError("reproduce: expected one or more of" + known);
  for (const std::string& name : targets) {
    const PaperFigure* figure = find_figure(name);
    if (figure == nullptr && name != kWorkedExample) {
      throw UsageError(
          fmt::format("reproduce {}: unknown; expected one or more of{}", name, known));
    }
    if (figure == nullptr) continue;
    for (const PaperRow& row : figure->rows) simulation_of(row, *this).validate();
  }
}

std::vector<std::pair<std::string, std::string>> reproduce_targets() {
  std::vector<std::pair<std::string, std::string>> targets = {
      {kWorkedExample, kWorkedExampleTitle}};
  for (const PaperFigure& figure : paper_figures()) {
    targets.emplace_back(figure.name, figure.title);
  }
  return targets;
}

std::vector<Comparison> reproduce(const ReproduceOptions& options) {
  options.validate();
  check_output_folder(options.folder, options.force);
  std::filesystem::create_directory(options.folder);
  std::vector<Comparison> comparisons;
  for (const std::string& name : options.targets) {
    const PaperFigure* figure = find_figure(name);
    const std::vector<Comparison> made =
        figure == nullptr ? reproduce_worked_example(options) : reproduce_figure(*figure, options);
    comparisons.insert(comparisons.end(), made.begin(), made.end());
  }
  write_csv(comparisons, options.folder / "comparisons.csv");
  return comparisons;
}

}  // namespace poslens
