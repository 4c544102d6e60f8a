#pragma once
// The main job: baseline, interventions and controls on the same tokens, measured and put together.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "poslens/measures.h"
#include "poslens/probe.h"

namespace poslens {

// One run of the model.
struct Cell {
  std::string name;   // file name: rope_causal, ...
  std::string title;  // in words
  std::vector<Intervention> interventions;
  bool shuffled = false;
};

// {RoPE on, off} x {causal, full mask}, then the controls with shuffled tokens: the model as it is
// (architecture or text?), and without RoPE and mask (must be constant off the diagonal).
std::vector<Cell> factorial_cells(const ModelSpec& spec);

struct CellResult {
  Cell cell;
  ScoreMap map;  // without groups, once measured
  std::vector<LayerMeasures> layers;
};

struct AnalysisOptions {
  DecoderOptions decoder;  // groups: at least 2
  std::uint64_t seed = 0;
  std::filesystem::path folder;
  bool keep_groups = false;  // keep scores_groups in the artefacts
  bool force = false;
};

struct Analysis {
  std::vector<CellResult> cells;
  std::string model_name;
  std::string answer;  // the conclusion in plain words, one paragraph per line
};

// Runs all cells; writes CELL.npz, measures.csv, measures.json, figures/ and report.html into
// options.folder (which it makes).
Analysis analyze(const LoadedModel& model, const Corpus& corpus, const AnalysisOptions& options);

}  // namespace poslens
