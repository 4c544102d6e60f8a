#include "poslens/map_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "poslens/error.h"
#include "report/html_report.h"
#include "report/measures_file.h"
#include "report/position_file.h"
#include "report/words.h"

namespace poslens {
namespace {

// "Attention scores of MODEL and MODEL", or of the sources.
std::string title_of(const std::vector<CellResult>& cells) {
  std::vector<std::string> names;
  for (const CellResult& cell : cells) {
    const std::string& model = cell.map.provenance.model;
    std::string name = model.empty() ? to_string(cell.map.source) : model;
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(std::move(name));
  }
  return fmt::format("Attention scores of {}", fmt::join(names, " and "));
}

// For files and ids in the page: each differs from the others.
void name_cells(std::vector<CellResult>& cells) {
  std::vector<std::string> names;
  for (CellResult& cell : cells) {
    std::string name = plain_name(cell.cell.title);
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      name += fmt::format("-{}", names.size() + 1);
    }
    names.push_back(name);
    cell.cell.name = std::move(name);
  }
}

bool is_shuffled(const ScoreMap& map) {
  const auto& options = map.provenance.options;
  return std::any_of(options.begin(), options.end(),
                     [](const auto& option) { return option.first == "shuffle"; });
}

}  // namespace

void check_same_shape(const ScoreMap& first, std::string_view first_label, const ScoreMap& map,
                      std::string_view label) {
  const auto require = [&](const char* what, const std::string& a, const std::string& b) {
    if (a == b) return;
    throw Error(
        fmt::format("{}: expected {} {}, as in {}, found {}: a report switches between maps "
                    "of one shape",
                    label, what, a, first_label, b));
  };
  require("positions", std::to_string(first.positions()), std::to_string(map.positions()));
  require("blocks of", std::to_string(first.pool), std::to_string(map.pool));
  require("layers", fmt::format("{}", fmt::join(first.layers, ",")),
          fmt::format("{}", fmt::join(map.layers, ",")));
}

CellResult measured_cell(const std::string& label, ScoreMap map) {
  CellResult cell;
  cell.cell.title = label;
  cell.cell.shuffled = is_shuffled(map);
  cell.layers = measure(map);
  cell.curves = curves_of(map);
  cell.map = std::move(map);
  cell.map.groups = 0;
  cell.map.scores_groups = {};
  return cell;
}

MapReport map_report(const std::vector<CellResult>& cells, const std::string& title) {
  Analysis analysis;
  analysis.cells = cells;
  name_cells(analysis.cells);
  for (const CellResult& cell : cells) {
    check_same_shape(cells.front().map, cells.front().cell.title, cell.map, cell.cell.title);
  }
  MapReport report;
  report.html = html_report(analysis, title.empty() && !cells.empty() ? title_of(cells) : title);
  report.measures_csv = measures_csv(analysis);
  report.curves_csv = curves_csv(analysis);
  const auto some = [&](const auto& has) { return std::any_of(cells.begin(), cells.end(), has); };
  if (some([](const CellResult& cell) { return !cell.map.loss.empty(); })) {
    report.loss_csv = loss_csv(analysis);
  }
  if (some([](const CellResult& cell) { return !cell.map.decoding_r2.empty(); })) {
    report.decoding_csv = decoding_csv(analysis);
  }
  return report;
}

}  // namespace poslens
