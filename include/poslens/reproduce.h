#pragma once
// Figures and tables of arXiv 2509.21042 (its first version, and the recency probabilities of its
// later ones) made again by theory and simulation, and compared with the values that were published
// or, where there are none, with the mean field; its claims, checked on a grid; and its figures of
// language models, drawn for any model, with what they are meant to show measured.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "poslens/corpus.h"
#include "poslens/decoder.h"
#include "poslens/measures.h"

namespace poslens {

// For figures of language models, which cannot do without.
struct ReproduceModels {
  // As find_model() takes them: one for all, or for fig11 and fig12 the first, for fig13 and fig14
  // the second, for fig15 and fig16 the third. fig5 has a row for each.
  std::vector<std::string> models;
  CorpusOptions corpus;    // but for length and sequences
  DecoderOptions decoder;  // but for groups; layers: the figure's own when empty
  std::optional<std::int64_t> length, sequences;  // the figure's own when empty
  std::optional<std::int64_t> groups;             // 8, or as many as there are sequences
  // Figures 11 to 16 as published: sums over the sequences, 20, divided by 50.
  bool reference_compat = false;
};

struct ReproduceOptions {
  std::vector<std::string> targets;     // fig1, fig2, ...; see reproduce_targets()
  std::optional<std::int64_t> samples;  // of each simulation; the target's own number when empty
  std::uint64_t seed = 0;
  std::filesystem::path folder;
  bool force = false;        // write into a folder that is not empty
  std::string command_line;  // for provenance
  ReproduceModels language{};

  // Throws UsageError naming the option, the value and what is allowed.
  void validate() const;
};

enum class Quantity { scores, recency };  // mean scores, or the recency probability
std::string to_string(Quantity quantity);

// One panel of a figure, made by one route.
struct Comparison {
  std::string figure;
  std::string panel;
  Quantity quantity = Quantity::scores;
  std::string route;      // closed form, mean field or simulation
  std::string reference;  // published, mean field or exact; empty: nothing to compare with
  std::int64_t values = 0;
  double value = 0;              // the recency probability; NaN for scores
  double largest_deviation = 0;  // over all values; infinite when one is missing
  double tolerance = 0;
  // Of a simulated mean: the largest in the panel; of a recency probability: at most. NaN for
  // theory.
  double standard_error = 0;

  bool ok() const { return reference.empty() || largest_deviation <= tolerance; }
};

// A claim of the paper and where it holds.
struct Claim {
  std::string statement;
  std::string grid;    // of n and alpha
  bool holds = false;  // everywhere on the grid
  std::string where;   // in words: where it fails, and what was found
};

// Whether a layer shows what the paper says of language models, by the 95 % interval of a measure.
enum class Verdict {
  shown,      // the interval lies on the side that the paper says
  not_shown,  // it holds 0
  opposite,   // it lies on the other side
  no_signal,  // a share of a position signal within two standard errors of 0
  not_meant,  // the first layer: no mask has acted on what it scores
};
std::string to_string(Verdict verdict);

// A claim about a run of a language model, layer by layer.
struct ModelClaim {
  std::string statement;
  std::string measure;            // a name of named_estimates()
  std::vector<Verdict> verdicts;  // one for each layer
  // How many layers it is meant for, and how many of them show it.
  std::int64_t meant() const;
  std::int64_t shown() const;
};

// A language model's maps, as some of the figures show them.
struct ModelRun {
  std::string figures;  // fig5; fig11 fig12
  std::string model;
  std::int64_t length = 0;
  std::int64_t sequences = 0;
  std::int64_t groups = 0;
  std::vector<LayerMeasures> layers;
  std::vector<ModelClaim> claims;
  bool rotary = true;  // the model has RoPE, as those that the paper speaks of
};

struct Reproduction {
  std::vector<Comparison> comparisons;
  std::vector<Claim> claims;
  std::vector<ModelRun> models;
};

struct ReproduceTarget {
  std::string name;
  std::string title;
  std::int64_t samples = 0;  // of each simulation; 0: there is none
  double seconds = 0;        // with so many samples, about, on two cores; 0: the model decides
  std::string needs{};       // options that it cannot do without
};

// Everything that can be made.
std::vector<ReproduceTarget> reproduce_targets();

// Makes the targets, in the order given: artefacts, figures, comparisons.csv, for the target theory
// claims.csv and for each run of a language model its measures (CSV) go into options.folder, which
// is made. The caller decides what a comparison that is not ok() means; a claim that does not hold
// everywhere is a result.
Reproduction reproduce(const ReproduceOptions& options);

}  // namespace poslens
