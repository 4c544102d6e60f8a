#include "poslens/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "poslens/atomic_file.h"
#include "poslens/error.h"
#include "poslens/figure.h"
#include "poslens/run_parts.h"
#include "poslens/threads.h"
#include "report/analysis_state.h"
#include "report/answer.h"
#include "report/group_file.h"
#include "report/group_measures.h"
#include "report/result_files.h"

namespace poslens {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kDrawnLayers = 4;

// "causal mask"; several kinds are named in their order.
std::string mask_in_words(const ModelSpec& spec) {
  std::vector<std::string> kinds;
  for (const LayerSpec& layer : spec.layers) {
    const std::string kind = layer.attention.mask.text();
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  std::string words = kinds[0];
  for (std::size_t k = 1; k < kinds.size(); ++k) words += " and " + kinds[k];
  return words + " mask";
}

ProbeOptions probe_options_of(const AnalysisOptions& options, const Cell& cell) {
  ProbeOptions probe_options;
  probe_options.decoder = options.decoder;
  probe_options.interventions = cell.interventions;
  probe_options.shuffle = cell.shuffled;
  probe_options.seed = options.seed;
  return probe_options;
}

fs::path map_file(const AnalysisOptions& options, const Cell& cell) {
  return options.folder / (cell.name + ".npz");
}

// The state of a cell's run that is not finished.
fs::path run_file(const AnalysisOptions& options, const Cell& cell) {
  return options.folder / (cell.name + ".npz.partial");
}

std::vector<Estimate> variations(const ScoreMap& map, const Corpus& corpus) {
  if (std::find(map.count.begin(), map.count.end(), 0) != map.count.end()) return {};
  const Support support{corpus.starts_with_bos ? 1 : 0};
  std::vector<Estimate> result(map.layers.size());
  parallel_for(result.size(), [&](std::size_t place, int /*worker*/) {
    result[place] = off_diagonal_variation(map.group_layers(place), support);
  });
  return result;
}

void draw(const CellResult& result, const fs::path& file) {
  const ScoreMap& map = result.map;
  const std::size_t count = std::min(kDrawnLayers, map.layers.size());
  std::vector<Panel> panels;
  for (std::size_t place = 0; place < count; ++place) {
    panels.push_back({fmt::format("Layer {}", map.layers[place] + 1),
                      Matrix<float>(map.layer(place)), std::nullopt});
  }
  for (std::size_t place = 0; place < count; ++place) {
    panels.push_back({fmt::format("Layer {}, diagonal-normalised", map.layers[place] + 1),
                      diagonal_normalised(map.layer(place)), std::nullopt});
  }
  FigureOptions options;
  options.title = result.cell.title;
  options.columns = static_cast<int>(count);
  draw_heat_maps(panels, options, file);
}

// Runs, measures and draws a cell, and writes all but its measures.
CellResult finish_cell(const LoadedModel& model, const Corpus& corpus,
                       const AnalysisOptions& options, const Cell& cell) {
  const RunCheckpoint checkpoint{run_file(options, cell), options.checkpoint_interval, true};
  CellResult result{
      cell, probe(model, corpus, probe_options_of(options, cell), checkpoint), {}, {}, {}};
  result.map.provenance.command_line = options.command_line;
  result.layers = measure(result.map);
  result.variation = variations(result.map, corpus);
  GroupFile::write(result.map, group_file(options.folder, cell));
  if (!options.keep_groups) {
    result.map.groups = 0;
    result.map.scores_groups = {};
  }
  save(result.map, map_file(options, cell));
  draw(result, options.folder / "figures" / (cell.name + ".svg"));
  return result;
}

// The map of a cell that an interrupted analysis has finished.
void load_map(const LoadedModel& model, const Corpus& corpus, const AnalysisOptions& options,
              CellResult& result) {
  const fs::path file = map_file(options, result.cell);
  result.map = load_score_map(file);
  try {
    check_same_run(result.map.provenance,
                   expected_provenance(model, corpus, probe_options_of(options, result.cell)));
    if ((result.map.groups > 0) != options.keep_groups) {
      throw Error(fmt::format("expected {} groups of sequences (--keep-groups), found {}",
                              options.keep_groups ? options.decoder.groups : 0, result.map.groups));
    }
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", file.string(), error.what()));
  }
}

// Takes away what an earlier run left, so that nothing old stands beside the new.
void clear(const AnalysisOptions& options) {
  for (const ResultFile& file : result_files()) fs::remove(options.folder / file.name);
  fs::remove(state_file(options.folder));
  // The cells of any model, not of this one alone.
  std::vector<std::string> cells = {"control_shuffled", "control_null"};
  for (const char* tag : {"rope", "alibi", "learned", "encoding"}) {
    for (const bool encoded : {true, false}) {
      for (const bool causal : {true, false}) cells.push_back(cell_name(tag, encoded, causal));
    }
  }
  for (const std::string& cell : cells) {
    for (const char* suffix : {".npz", ".npz.partial", ".groups"}) {
      fs::remove(options.folder / (cell + suffix));
    }
  }
  fs::remove_all(options.folder / "figures");
}

// Files, and folders with a figure's, that a process was writing when it was killed.
void remove_temporary_files(const fs::path& folder, const std::vector<Cell>& cells) {
  std::vector<std::string> names = {"incomplete"};
  for (const ResultFile& file : result_files())
    names.push_back(fs::path(file.name).stem().string());
  for (const Cell& cell : cells) names.push_back(cell.name);
  std::vector<fs::path> left;
  for (const fs::path& place : {folder, folder / "figures"}) {
    if (!fs::exists(place)) continue;
    for (const auto& entry : fs::directory_iterator(place)) {
      const std::string found = entry.path().filename().string();
      const auto is_of = [&](const std::string& name) { return found.starts_with(name + '.'); };
      if (found.find(".tmp") != std::string::npos &&
          std::any_of(names.begin(), names.end(), is_of)) {
        left.push_back(entry.path());
      }
    }
  }
  // A program that the killed process had started may still be writing there.
  for (const fs::path& path : left) {
    std::error_code error;
    for (int attempt = 0; attempt < 20; ++attempt) {
      fs::remove_all(path, error);
      if (!error) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    if (error) throw Error(path.string() + ": cannot be removed: " + error.message());
  }
}

}  // namespace

PositionEncoding encoding_of(const ModelSpec& spec) {
  const auto layers_with = [&](const auto& property) {
    return std::count_if(spec.layers.begin(), spec.layers.end(),
                         [&](const LayerSpec& layer) { return property(layer.attention); });
  };
  const auto rotary = layers_with([](const AttentionSpec& a) { return a.rotary.has_value(); });
  const auto alibi = layers_with([](const AttentionSpec& a) { return a.alibi.has_value(); });
  std::vector<PositionEncoding> found;
  if (!spec.learned_positions.empty()) found.push_back({"learned positions", "learned"});
  if (rotary > 0) found.push_back({"RoPE", "rope"});
  if (alibi > 0) found.push_back({"ALiBi", "alibi"});
  if (found.empty()) {
    throw Error(spec.name +
                ": has no positional encoding, and analyze takes it away to see what is left; "
                "`poslens probe` measures the model as it is");
  }
  PositionEncoding encoding = found[0];
  for (std::size_t k = 1; k < found.size(); ++k) {
    encoding.name += " and " + found[k].name;
    encoding.tag = "encoding";
  }
  const std::int64_t layers = std::ssize(spec.layers);
  const std::int64_t with = layers_with([](const AttentionSpec& a) { return a.rotary || a.alibi; });
  if (spec.learned_positions.empty() && with < layers) {
    encoding.where = fmt::format("in {} of {} layers", with, layers);
  }
  encoding.off = encoding.tag == "rope" && with == layers ? "rope=none" : "position=none";
  return encoding;
}

std::string cell_name(std::string_view tag, bool encoded, bool causal) {
  return fmt::format("{}{}_{}", encoded ? "" : "no", tag, causal ? "causal" : "full");
}

std::vector<Cell> factorial_cells(const ModelSpec& spec) {
  const PositionEncoding encoding = encoding_of(spec);
  if (std::none_of(spec.layers.begin(), spec.layers.end(),
                   [](const LayerSpec& layer) { return layer.attention.mask.is_causal(); })) {
    throw Error(spec.name +
                ": has no causal mask, and analyze takes it away to see what is left; "
                "`poslens probe` measures the model as it is");
  }
  const Intervention off = parse_intervention(encoding.off);
  const Intervention full = parse_intervention("mask=full");
  const std::string mask = mask_in_words(spec);
  const std::string on = encoding.where.empty()
                             ? encoding.name
                             : fmt::format("{} ({})", encoding.name, encoding.where);
  const std::string none = "no " + encoding.name;
  const std::string& tag = encoding.tag;
  return {
      {cell_name(tag, true, true), fmt::format("{}, {} (the model as it is)", on, mask), {}, false},
      {cell_name(tag, true, false), on + ", full mask", {full}, false},
      {cell_name(tag, false, true), fmt::format("{}, {}", none, mask), {off}, false},
      {cell_name(tag, false, false), none + ", full mask", {off, full}, false},
      {"control_shuffled", "the model as it is, tokens shuffled", {}, true},
      {"control_null", none + ", full mask, tokens shuffled", {off, full}, true},
  };
}

void AnalysisOptions::validate(std::int64_t length, std::int64_t sequences) const {
  if (decoder.groups < 3 || decoder.groups > sequences) {
    throw UsageError(fmt::format(
        "--groups {}: expected 3 to {}, the number of sequences: standard errors come from leaving "
        "groups out",
        decoder.groups, sequences));
  }
  if (length < 5) throw UsageError(fmt::format("--length {}: expected at least 5", length));
}

void check_analysis_folder(const AnalysisOptions& options) {
  const fs::path file = state_file(options.folder);
  if (!fs::exists(file) || options.force) {
    check_output_folder(options.folder, options.force);
  } else if (!options.resume) {
    throw Error(file.string() +
                ": is of an interrupted analysis; --resume goes on with it, --force starts again");
  }
}

Analysis analyze(const LoadedModel& model, const Corpus& corpus, const AnalysisOptions& options) {
  options.validate(corpus.batch.length, corpus.batch.sequences());
  options.decoder.validate(model.spec);
  check_analysis_folder(options);
  const ModelSpec spec = poslens::apply(model.spec, options.interventions);
  std::vector<Cell> cells = factorial_cells(spec);
  for (Cell& cell : cells) {
    cell.interventions.insert(cell.interventions.begin(), options.interventions.begin(),
                              options.interventions.end());
    poslens::apply(model.spec, cell.interventions);
  }
  fs::create_directory(options.folder);
  std::vector<CellResult> finished;
  if (options.resume && fs::exists(state_file(options.folder))) {
    finished = load_analysis_state(options.folder, cells);
    for (CellResult& result : finished) load_map(model, corpus, options, result);
  } else {
    clear(options);
  }
  remove_temporary_files(options.folder, cells);
  fs::create_directory(options.folder / "figures");

  Analysis analysis;
  analysis.model_name = model.spec.name;
  analysis.encoding = encoding_of(spec);
  for (const Intervention& intervention : options.interventions) {
    analysis.changes.push_back(describe(intervention, model.spec));
  }
  analysis.length = corpus.batch.length;
  analysis.sequences = corpus.batch.sequences();
  analysis.groups = options.decoder.groups;
  analysis.cells = std::move(finished);
  for (std::size_t next = analysis.cells.size(); next < cells.size(); ++next) {
    save_analysis_state(options.folder, cells, analysis.cells);
    analysis.cells.push_back(finish_cell(model, corpus, options, cells[next]));
    fs::remove(run_file(options, cells[next]));
  }
  save_analysis_state(options.folder, cells, analysis.cells);
  measure_groups(options.folder, analysis);
  conclude(analysis);
  for (const ResultFile& file : result_files()) {
    write_text_atomically(options.folder / file.name, file.text(analysis));
  }
  for (const Cell& cell : cells) fs::remove(group_file(options.folder, cell));
  fs::remove(state_file(options.folder));
  return analysis;
}

}  // namespace poslens
