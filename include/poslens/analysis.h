#pragma once
// The main job: baseline, interventions and controls on the same tokens, measured and put together.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "poslens/curves.h"
#include "poslens/factorial.h"
#include "poslens/measures.h"
#include "poslens/probe.h"

namespace poslens {

// What tells a model where a token stands, besides the mask.
struct PositionEncoding {
  std::string name = "RoPE";  // in words: RoPE, ALiBi, learned positions, or several of them
  std::string tag = "rope";   // in names of cells: rope, alibi, learned, or encoding for several
  std::string where{};        // "in 3 of 4 layers" where the others have none
  std::string off = "rope=none";  // the intervention that takes it away
};
// Throws Error when there is none.
PositionEncoding encoding_of(const ModelSpec& spec);

// One run of the model.
struct Cell {
  std::string name;   // file name: rope_causal, norope_full, alibi_causal, ...
  std::string title;  // in words
  std::vector<Intervention> interventions;
  bool shuffled = false;
};

// That of {encoding on, off} x {causal, full mask}; tag: of the encoding.
std::string cell_name(std::string_view tag, bool encoded, bool causal);

// {encoding on, off} x {causal, full mask}, then the controls with shuffled tokens: the model as it
// is (architecture or text?), and without encoding and mask (must be constant off the diagonal).
// Throws Error when the model has no encoding, or no causal mask, to take away.
std::vector<Cell> factorial_cells(const ModelSpec& spec);

struct CellResult {
  Cell cell;
  ScoreMap map;  // without groups, once measured
  std::vector<LayerMeasures> layers;
  // off_diagonal_variation() of each layer, without the first position where it holds BOS; empty
  // unless every pair is visible in every layer.
  std::vector<Estimate> variation;
  std::vector<LayerCurves> curves{};  // of each layer, with the standard errors of its groups
};

struct AnalysisOptions {
  DecoderOptions decoder;  // groups: at least 3, for standard errors
  // Of every cell, beside its own; the corpus must be read with them.
  std::vector<Intervention> interventions{};
  std::uint64_t seed = 0;  // of the shuffles
  std::filesystem::path folder;
  bool keep_groups = false;  // keep scores_groups in the artefacts
  bool force = false;        // write into a folder that is not empty
  bool resume = false;  // go on with what an interrupted analysis left in the folder, if it did
  double checkpoint_interval = 5;  // of the run of a cell, see RunCheckpoint
  std::string command_line;        // for provenance

  // Throws UsageError naming the option, the value and what is allowed for a corpus of this size.
  void validate(std::int64_t length, std::int64_t sequences) const;
};

struct Analysis {
  std::vector<CellResult> cells;
  std::string model_name;
  PositionEncoding encoding;
  std::vector<std::string> changes;         // of the model in every cell, in words
  std::vector<FactorialEffects> effects{};  // of each layer, all keys j < i
  // What the answer rests on, by name; shares and ratios, layers with a position signal only.
  std::vector<std::pair<std::string, Estimate>> findings;
  std::string answer;  // the conclusion in plain words, one paragraph per line
  std::int64_t length = 0;
  std::int64_t sequences = 0;
  std::int64_t groups = 0;

  // The cell of that name. Throws std::out_of_range when there is none.
  const CellResult& cell(std::string_view name) const;
  // That of {encoding on, off} x {causal, full mask}.
  const CellResult& cell(bool encoded, bool causal) const;
};

// Throws Error when the folder cannot be made or is not empty, unless options.force says that it
// may be written into or options.resume that an interrupted analysis in it is to go on.
void check_analysis_folder(const AnalysisOptions& options);

// Runs all cells; writes CELL.npz, figures/CELL.svg, measures.csv, effects.csv, loss.csv,
// curves.csv, measures.json and, when all of that is there, report.html into options.folder (which
// it makes). As long as something is missing, incomplete.json says what. What an earlier run left
// there under these names goes first, unless it is resumed: then finished cells stay, and a cell
// goes on where its run was interrupted, with the numbers of an uninterrupted analysis. Throws
// UsageError, before any work, when the options' interventions contradict those of a cell, and
// Error naming file and field when what is to be resumed is of other options, another model or
// another text.
Analysis analyze(const LoadedModel& model, const Corpus& corpus, const AnalysisOptions& options);

}  // namespace poslens
