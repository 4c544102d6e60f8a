#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/commands.h"
#include "cli/options.h"
#include "poslens/atomic_file.h"
#include "poslens/error.h"
#include "poslens/index_list.h"
#include "poslens/intervention.h"
#include "poslens/map_figure.h"

namespace poslens::cli {
namespace {

struct PlotOptions {
  std::filesystem::path map;
  std::filesystem::path minus;
  OutputOptions output;
  MapFigureOptions what;
  FigureOptions figure;
  std::optional<std::pair<double, double>> range;
  std::optional<std::string> title;
};

// "A:B" with A < B.
std::pair<double, double> parse_pair(std::string_view option, const std::string& text) {
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
  throw UsageError(fmt::format("{} {}: expected A:B with numbers A < B", option, text));
}

// 180mm, 84pt, ... in points.
double parse_size(std::string_view option, const std::string& text) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {
      {"pt", 1}, {"mm", 72 / 25.4}, {"cm", 720 / 25.4}, {"in", 72}};
  for (const auto& [unit, points] : kUnits) {
    if (!text.ends_with(unit)) continue;
    double number = 0;
    const char* last = text.data() + text.size() - unit.size();
    const auto [end, error] = std::from_chars(text.data(), last, number);
    if (error == std::errc{} && end == last && std::isfinite(number)) return number * points;
  }
  throw UsageError(
      fmt::format("{} {}: expected a length in pt, mm, cm or in, such as 180mm", option, text));
}

bool parse_view(const std::string& text) {
  if (text == "raw") return false;
  if (text == "diagonal-normalised") return true;
  throw UsageError("--view " + text + ": expected raw or diagonal-normalised");
}

bool parse_scale(const std::string& text) {
  if (text == "panel") return false;
  if (text == "shared") return true;
  throw UsageError("--scale " + text + ": expected panel or shared");
}

// Whatever can be said before a file is read.
void check(const CLI::App& command, const PlotOptions& options) {
  check_figure_name(options.output.out);
  options.figure.validate();
  const auto refuse = [&](const char* option, const char* other) {
    if (command.count(option) > 0 && command.count(other) > 0) {
      throw UsageError(fmt::format("{}: not expected with {}", option, other));
    }
  };
  refuse("--quantiles", "--range");
  refuse("--scale", "--range");
  refuse("--panel", "--width");
  if (command.count("--dpi") > 0 && options.output.out.extension() != ".png") {
    throw UsageError(fmt::format("--dpi {}: expected with a .png, found {}", options.figure.dpi,
                                 options.output.out.filename().string()));
  }
  check_output(options.output.out, options.output.force);
  // Its script may have been edited since; both go with --force.
  for (const char* suffix : {".gnuplot", ".data"}) {
    std::filesystem::path file = options.output.out;
    file += suffix;
    if (!options.output.force && std::filesystem::exists(file)) {
      throw Error(file.string() + ": exists already; --force replaces it");
    }
  }
}

void run(const CLI::App& command, PlotOptions& options) {
  check(command, options);
  const ScoreMap map = load_score_map(options.map);
  const bool difference = !options.minus.empty();
  if (difference && command.count("--palette") == 0) options.figure.palette = Palette::diverging;
  if (!options.what.heads.empty() && command.count("--array") == 0) {
    options.what.array = "scores_heads";
  }
  const ScoreMap minus = difference ? load_score_map(options.minus) : ScoreMap();
  std::vector<Panel> panels = map_panels(map, options.what, difference ? &minus : nullptr);
  for (Panel& panel : panels) panel.range = options.range;
  FigureOptions& figure = options.figure;
  figure.title = options.title.value_or(map_figure_title(map, options.what, difference));
  if (map.pool > 1) {
    figure.x_label += fmt::format(" / {}", map.pool);
    figure.y_label += fmt::format(" / {}", map.pool);
  }
  draw_heat_maps(panels, figure, options.output.out);
}

void add_what(CLI::App& command, PlotOptions& options) {
  MapFigureOptions& what = options.what;
  command.add_option("map", options.map, "Artefact (.npz)")->required()->type_name("MAP");
  command
      .add_option("--array", what.array,
                  "What is drawn: scores, probs, variance, scores_heads, hidden_cosine or "
                  "gram_STAGE, where the artefact has it")
      ->type_name("NAME")
      ->capture_default_str();
  command
      .add_option_function<std::string>(
          "--layers",
          [&what](const std::string& text) { what.layers = parse_layers(text, "--layers"); },
          "Layers, counted from 0 (default all)")
      ->type_name("0-3,7");
  command
      .add_option_function<std::string>(
          "--heads",
          [&what](const std::string& text) {
            what.heads = parse_index_list(text, "--heads", "heads");
          },
          "Heads, counted from 0, of an artefact that kept them: draws scores_heads")
      ->type_name("0-3,7");
  command
      .add_option_function<std::string>(
          "--view",
          [&what](const std::string& text) { what.diagonal_normalised = parse_view(text); },
          "raw or diagonal-normalised (default raw)")
      ->type_name("VIEW");
  command.add_option("--minus", options.minus, "Draw MAP less this one, pair by pair")
      ->type_name("MAP");
}

void add_colours(CLI::App& command, PlotOptions& options) {
  FigureOptions& figure = options.figure;
  command
      .add_option_function<std::string>(
          "--palette", [&figure](const std::string& text) { figure.palette = parse_palette(text); },
          "Sequential: rocket, viridis, cividis, grey; diverging, with 0 in the middle: diverging, "
          "purple-orange (default rocket, with --minus diverging)")
      ->type_name("NAME");
  command
      .add_option_function<std::string>(
          "--range",
          [&options](const std::string& text) { options.range = parse_pair("--range", text); },
          "Values of the first and last colour (default: quantiles)")
      ->type_name("A:B");
  command
      .add_option_function<std::string>(
          "--quantiles",
          [&figure](const std::string& text) {
            figure.quantiles = parse_pair("--quantiles", text);
          },
          "Quantiles of the values for the first and last colour (default 0.01:0.99)")
      ->type_name("A:B");
  command
      .add_option_function<std::string>(
          "--scale",
          [&figure](const std::string& text) { figure.shared_scale = parse_scale(text); },
          "panel: each with quantiles of its own; shared: of all panels together (default panel)")
      ->type_name("SCALE");
  add_number(command, "--contours", figure.contours,
             "Lines of equal value, at about so many round values, 0 to 32");
}

void add_style(CLI::App& command, PlotOptions& options) {
  FigureOptions& figure = options.figure;
  add_number(command, "--columns", figure.columns, "Panels per row, 1 to 64");
  const auto add_size = [&](const char* name, auto& value, const char* help) {
    command
        .add_option_function<std::string>(
            name, [&value, name](const std::string& text) { value = parse_size(name, text); }, help)
        ->type_name("SIZE");
  };
  add_size("--panel", figure.panel,
           "Side of a panel, in pt, mm, cm or in: 20pt to 2000pt (default 132pt)");
  add_size("--width", figure.width,
           "Width of the whole figure instead, which the panels then share; its height follows");
  command.add_option("--font", figure.font, "Font, by name (default Helvetica, or what stands in)")
      ->type_name("NAME");
  add_number(command, "--font-size", figure.font_size,
             "Size of the font in points, 3 to 48; titles and margins follow");
  add_number(command, "--dpi", figure.dpi, "Pixels to the inch of a .png, 36 to 1200");
  command
      .add_option("--title", options.title,
                  "Title of the figure; '' for none (default: what the map is of)")
      ->type_name("TEXT");
}

}  // namespace

void add_plot(CLI::App& app) {
  const auto options = std::make_shared<PlotOptions>();
  CLI::App* command = app.add_subcommand(
      "plot", "Map -> figure (.svg, .pdf or .png); its gnuplot script and data stay beside it");
  command->footer(
      "Example:\n  poslens plot map.npz --view diagonal-normalised --layers 0-3 --width 180mm "
      "--out map.pdf");
  add_what(*command, *options);
  add_colours(*command, *options);
  add_style(*command, *options);
  add_output_options(*command, options->output);
  add_common_options(*command);
  command->callback([command, options] { run(*command, *options); });
}

}  // namespace poslens::cli
