#include "poslens/reproduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "poslens/atomic_file.h"
#include "poslens/decomposition.h"
#include "poslens/error.h"
#include "poslens/figure.h"
#include "poslens/simulation.h"
#include "poslens/theory.h"
#include "report/comparison.h"
#include "report/model_figures.h"
#include "report/paper_figures.h"
#include "report/reproduce_claims.h"
#include "report/worked_example.h"

namespace poslens {
namespace {

constexpr const char* kWorkedExample = "fig1";
constexpr const char* kTheory = "theory";

SimulationOptions simulation_of(const PaperFigure& figure, const PaperRow& row,
                                const ReproduceOptions& options) {
  SimulationOptions simulation;
  simulation.spec = row.spec;
  simulation.samples = options.samples.value_or(figure.samples);
  simulation.seed = options.seed;
  simulation.variance = true;
  simulation.recency = figure.recency;
  return simulation;
}

std::string panel_title(const PaperRow& row, const ScoreMap& map, std::size_t place,
                        bool normalised) {
  std::string title = fmt::format("{}, layer {}", normalised ? "diagonal-normalised" : row.title,
                                  map.layers[place] + 1);
  if (!map.recency.empty()) title += fmt::format(", RP {:.4f}", map.recency[place]);
  return title;
}

// Colours of a figure about recency: the scores of keys before the query, which it compares. The
// diagonal would leave them one colour. Empty when they are all the same.
std::optional<std::pair<double, double>> range_before_query(MatrixView<const float> map) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (std::size_t i = 0; i < map.rows(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      low = std::min<double>(low, map(i, j));
      high = std::max<double>(high, map(i, j));
    }
  }
  if (!(high - low > 1e-6 * std::abs(high))) return std::nullopt;
  return std::pair(low, high);
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
        panel.title = panel_title(figure.rows[row], maps[row], place, normalised);
        panel.values = normalised ? diagonal_normalised(map) : Matrix<float>(map);
        if (figure.recency) {
          panel.range = range_before_query(map);
        } else if (!normalised) {
          panel.range = figure.rows[row].range;
        }
        panels.push_back(std::move(panel));
      }
    }
  }
  return panels;
}

void draw(const PaperFigure& figure, const std::vector<ScoreMap>& maps, const std::string& subtitle,
          const std::filesystem::path& stem) {
  FigureOptions drawing;
  drawing.title =
      fmt::format("{} ({}{})", figure.title, subtitle,
                  figure.recency ? "; res.: residual; colours: keys before the query" : "");
  drawing.columns = static_cast<int>(maps.front().layers.size());
  for (const char* extension : {".svg", ".png"}) {
    draw_heat_maps(panels_of(figure, maps), drawing, stem.string() + extension);
  }
}

std::vector<Comparison> compare(const PaperFigure& figure, const PaperRow& row,
                                const ScoreMap& simulated, const ScoreMap& mean_field) {
  std::vector<Comparison> comparisons;
  const auto add = [&](const std::vector<Comparison>& more) {
    comparisons.insert(comparisons.end(), more.begin(), more.end());
  };
  if (figure.recency) add(compare_recency(figure, row, simulated));
  if (!figure.published.empty()) {
    add(compare_with_published(figure, row, simulated));
    add(compare_with_published(figure, row, mean_field));
  } else if (figure.drawn) {
    add(compare_with_mean_field(figure, row, simulated, mean_field));
  }
  return comparisons;
}

std::vector<Comparison> reproduce_figure(const PaperFigure& figure,
                                         const ReproduceOptions& options) {
  std::vector<Comparison> comparisons;
  std::vector<ScoreMap> simulated, mean_field;
  const auto keep = [&](ScoreMap map, const PaperRow& row, const char* route) {
    map.provenance.command_line = options.command_line;
    save(map, options.folder / fmt::format("{}-{}-{}.npz", figure.name, row.name, route));
    return map;
  };
  for (const PaperRow& row : figure.rows) {
    simulated.push_back(keep(simulate(simulation_of(figure, row, options)), row, "simulation"));
    mean_field.push_back(keep(mean_field_map(row.spec), row, "mean-field"));
    const auto made = compare(figure, row, simulated.back(), mean_field.back());
    comparisons.insert(comparisons.end(), made.begin(), made.end());
  }
  if (figure.drawn) {
    draw(figure, simulated,
         fmt::format("mean of {} samples", options.samples.value_or(figure.samples)),
         options.folder / (figure.name + "-simulation"));
    draw(figure, mean_field, "mean field", options.folder / (figure.name + "-mean-field"));
  }
  return comparisons;
}

// Empty where there is no number.
std::string field(double value) {
  return std::isnan(value) ? std::string() : fmt::format("{:.6f}", value);
}

void write_csv(const std::vector<Comparison>& comparisons, const std::filesystem::path& path) {
  std::string text =
      "figure,panel,quantity,route,values,value,largest_deviation,tolerance,standard_error,"
      "compared_with,ok\n";
  for (const Comparison& comparison : comparisons) {
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", comparison.figure, comparison.panel,
                        to_string(comparison.quantity), comparison.route, comparison.values,
                        field(comparison.value), field(comparison.largest_deviation),
                        field(comparison.tolerance), field(comparison.standard_error),
                        comparison.reference, comparison.ok() ? 1 : 0);
  }
  write_text_atomically(path, text);
}

void write_csv(const std::vector<Claim>& claims, const std::filesystem::path& path) {
  std::string text = "claim,grid,holds,where\n";
  for (const Claim& claim : claims) {
    text += fmt::format("\"{}\",\"{}\",{},\"{}\"\n", claim.statement, claim.grid,
                        claim.holds ? 1 : 0, claim.where);
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

std::string to_string(Quantity quantity) {
  return quantity == Quantity::recency ? "recency" : "scores";
}

void ReproduceOptions::validate() const {
  std::string known;
  for (const ReproduceTarget& target : reproduce_targets()) known += " " + target.name;
  if (targets.empty()) throw UsageError("reproduce: expected one or more of" + known);
  validate_models(*this);
  for (const std::string& name : targets) {
    if (find_model_figure(name) != nullptr) continue;
    const PaperFigure* figure = find_figure(name);
    if (figure == nullptr && name != kWorkedExample && name != kTheory) {
      throw UsageError(
          fmt::format("reproduce {}: unknown; expected one or more of{}", name, known));
    }
    if (figure == nullptr) continue;
    for (const PaperRow& row : figure->rows) simulation_of(*figure, row, *this).validate();
  }
}

std::vector<ReproduceTarget> reproduce_targets() {
  std::vector<ReproduceTarget> targets = {{kWorkedExample, kWorkedExampleTitle, 0, 1}};
  for (const PaperFigure& figure : paper_figures()) {
    targets.push_back({figure.name, figure.title, figure.samples, figure.seconds});
  }
  targets.push_back({kTheory, kClaimsTitle, 0, 1});
  for (const ModelFigure& figure : model_figures()) {
    targets.push_back(
        {figure.name, figure.title(), figure.sequences, 0, "--model, --text or --tokens"});
  }
  return targets;
}

Reproduction reproduce(const ReproduceOptions& options) {
  options.validate();
  check_output_folder(options.folder, options.force);
  ModelFigures models(options);
  std::filesystem::create_directory(options.folder);
  Reproduction made;
  for (const std::string& name : options.targets) {
    if (const ModelFigure* figure = find_model_figure(name)) {
      models.make(*figure);
      continue;
    }
    if (name == kTheory) {
      made.claims = check_claims();
      write_csv(made.claims, options.folder / "claims.csv");
      continue;
    }
    const PaperFigure* figure = find_figure(name);
    const std::vector<Comparison> comparisons =
        figure == nullptr ? reproduce_worked_example(options) : reproduce_figure(*figure, options);
    made.comparisons.insert(made.comparisons.end(), comparisons.begin(), comparisons.end());
  }
  made.models = models.take_runs();
  if (!made.comparisons.empty()) {
    write_csv(made.comparisons, options.folder / "comparisons.csv");
  }
  return made;
}

}  // namespace poslens
