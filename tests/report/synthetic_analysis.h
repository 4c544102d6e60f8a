#pragma once
// An analysis with maps made of known parts, for tests of the report.

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "poslens/analysis.h"
#include "poslens/measures.h"

namespace poslens {

struct SyntheticCell {
  const char* name;
  const char* title;
  double relative;  // weight of f(i - j)
  double key;       // weight of h(j), growing with the layer
  bool full;
  bool shuffled;
};

inline constexpr SyntheticCell kSyntheticCells[] = {
    {"rope_causal", "RoPE, causal mask", 2, 1, false, false},
    {"rope_full", "RoPE, full mask", 2, 0, true, false},
    {"nope_causal", "no RoPE, causal mask", 0, 0.8, false, false},
    {"nope_full", "no RoPE, full mask", 0, 0, true, false},
    {"rope_causal_shuffled", "RoPE, causal mask, tokens shuffled", 2, 0.9, false, true},
    {"nope_full_shuffled", "no RoPE, full mask, tokens shuffled", 0, 0, true, true},
};

// Without measures and curves; the map has its groups.
inline CellResult synthetic_cell(const SyntheticCell& cell, std::int64_t n, int layers) {
  constexpr std::int64_t groups = 4;
  std::vector<int> numbers(static_cast<std::size_t>(layers));
  std::iota(numbers.begin(), numbers.end(), 0);
  CellResult result;
  result.cell.name = cell.name;
  result.cell.title = cell.title;
  result.cell.shuffled = cell.shuffled;
  result.map = ScoreMap::sized(numbers, n);
  ScoreMap& map = result.map;
  map.source = Source::model;
  map.groups = groups;
  map.scores_groups.assign(groups * map.scores.size(), std::numeric_limits<float>::quiet_NaN());
  std::uint64_t state = 12345;
  const auto noise = [&state] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state >> 40) / (1 << 24) - 0.5;
  };
  for (int layer = 0; layer < layers; ++layer) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < (cell.full ? n : i + 1); ++j) {
        const double distance = std::abs(static_cast<double>(i - j));
        const double score =
            cell.relative * std::exp(-distance / 8) * (1 + 0.3 * std::cos(distance)) +
            cell.key * layer * (std::log1p(static_cast<double>(j)) / 4 + (j == 0 ? 3 : 0));
        const auto at = static_cast<std::size_t>((layer * n + i) * n + j);
        double sum = 0;
        for (std::int64_t group = 0; group < groups; ++group) {
          const double value = score + 0.1 * noise();
          map.scores_groups[static_cast<std::size_t>(group) * map.scores.size() + at] =
              static_cast<float>(value);
          sum += value;
        }
        map.scores[at] = static_cast<float>(sum / groups);
        map.count[static_cast<std::size_t>(i * n + j)] = 16;
      }
    }
  }
  Provenance& provenance = map.provenance;
  provenance.averaging = "16 sequences and 9 heads";
  provenance.model = "synthetic";
  provenance.model_fingerprint = "0123456789abcdef";
  provenance.bos_policy = "the file adds none; none added";
  provenance.text = "/tmp/texts";
  provenance.documents_used = 16;
  provenance.documents_skipped = 3;
  provenance.program = "poslens";
  provenance.command_line = "poslens analyze model.gguf --text /tmp/texts";
  provenance.seconds = 12.5 + cell.key;
  if (cell.relative == 0) provenance.interventions.emplace_back("rope=none");
  if (cell.full) provenance.interventions.emplace_back("mask=full");
  return result;
}

// With the measures of maps of `measured` positions: those of many positions take long.
inline Analysis synthetic_analysis(std::int64_t n, int layers, std::int64_t measured) {
  Analysis analysis;
  analysis.model_name = "Synthetic-1B";
  analysis.answer =
      "In this model 45 % of the position signal is not relative.\n"
      "Without RoPE the signal is 20 times smaller; without the causal mask it is relative "
      "throughout.\n"
      "With neither, and with shuffled tokens, nothing is left but noise.";
  analysis.findings = {{"nonrelative_share_rope_causal", {0.45, 0.01}},
                       {"total_left_rope_full", {0.905, 0.027, {0.9, 0.9, 0.9, 0.92}}},
                       {"nonrelative_share_rope_full", {-0.003, 0.009}},
                       {"total_left_nope_full", {-0.0004, 0.002}},
                       {"effect_share_encoding", {0.7, 0.01}},
                       {"effect_nonrelative_share_encoding", {0.1, 0.01}},
                       {"effect_share_mask", {0.25, 0.01}},
                       {"effect_share_interaction", {0.05, 0.01}}};
  for (const SyntheticCell& cell : kSyntheticCells) {
    CellResult result = synthetic_cell(cell, n, layers);
    result.layers = measure(synthetic_cell(cell, measured, layers).map);
    result.curves = curves_of(result.map);
    result.map.groups = 0;
    result.map.scores_groups.clear();
    analysis.cells.push_back(std::move(result));
  }
  return analysis;
}

}  // namespace poslens
