#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "poslens/index_list.h"
#include "report/html_parts.h"

namespace poslens {
namespace {

// "median (smallest to largest)", times scale.
std::string in_words(const Spread& spread, double scale, const char* format) {
  if (spread.layers == 0) return "none";
  // Adding 0 after rounding turns -0 into 0.
  const auto scaled = [&](double value) {
    return scale == 1 ? value : std::round(scale * value) + 0.0;
  };
  std::string text;
  for (const char c : fmt::format(fmt::runtime(format), scaled(spread.median),
                                  scaled(spread.smallest), scaled(spread.largest))) {
    text += c == '-' ? "−" : std::string(1, c);
  }
  return text;
}

using Fact = std::pair<std::string, std::string>;

std::string samples_of(const ScoreMap& map) {
  const auto [low, high] = sample_range(map);
  return low == high ? fmt::format("{}", high) : fmt::format("{} to {}", low, high);
}

// Everything the map says about how it came about.
std::vector<Fact> facts_of(const CellResult& result) {
  const ScoreMap& map = result.map;
  const Provenance& provenance = map.provenance;
  const bool is_model = map.source == Source::model;
  std::vector<Fact> facts = {
      {"Model", provenance.model},
      {"Model file", provenance.model_fingerprint},
      {"Text", provenance.text},
      {"Token ids", provenance.text_fingerprint},
      {"Documents", provenance.documents_used + provenance.documents_skipped == 0
                        ? std::string()
                        : fmt::format("{} used, {} too short and skipped",
                                      provenance.documents_used, provenance.documents_skipped)},
      {"BOS token", provenance.bos_policy},
      {"Averaged over", provenance.averaging},
      {"Samples per pair", samples_of(map)},
      {"Positions", fmt::format("{}", map.n)},
      {"Source and stage", to_string(map.source) + ", " + to_string(map.stage)},
      {"Changed", fmt::format("{}", fmt::join(provenance.changes, "; "))},
      {"Interventions", !is_model ? std::string()
                        : provenance.interventions.empty()
                            ? std::string("none")
                            : fmt::format("{}", fmt::join(provenance.interventions, ", "))},
      {"Tokens shuffled", !is_model              ? ""
                          : result.cell.shuffled ? "yes, within each sequence"
                                                 : "no"},
      {"Seed", map.source == Source::theory ? "" : fmt::format("{}", provenance.seed)},
      {"Engine", provenance.engine},
  };
  for (const auto& [name, value] : provenance.options) {
    facts.emplace_back("--" + name, name == "layers" ? index_list_text(map.layers) : value);
  }
  facts.emplace_back("Program", provenance.program);
  facts.emplace_back("Command", provenance.command_line);
  facts.emplace_back(
      "Time", provenance.seconds > 0 ? fmt::format("{:.1f} s", provenance.seconds) : std::string());
  facts.emplace_back("Peak memory",
                     provenance.peak_memory_bytes > 0
                         ? fmt::format("{:.0f} MB", provenance.peak_memory_bytes / 1e6)
                         : std::string());
  std::erase_if(facts, [](const Fact& fact) { return fact.second.empty(); });
  return facts;
}

std::string definition_list(const std::vector<Fact>& facts) {
  std::string text = "<dl>";
  for (const auto& [label, value] : facts) {
    text += "<dt>" + escape_html(label) + "</dt><dd>" + escape_html(value) + "</dd>";
  }
  return text + "</dl>\n";
}

}  // namespace

std::string key_numbers(const Analysis& analysis) {
  std::string text = "<div class=\"cards\">\n";
  for (std::size_t index = 0; index < analysis.cells.size(); ++index) {
    const CellResult& result = analysis.cells[index];
    const auto spreads = spreads_over_layers(result);
    const auto share = [](const Spread& spread) {
      return in_words(spread, 100, "<b>{:.0f} %</b> <span>({:.0f} to {:.0f})</span>");
    };
    text += fmt::format(
        "<article class=\"card s{}\"><h3>{}</h3><dl>"
        "<dt>signal without key 0, score²</dt><dd>{}</dd>"
        "<dt>in how many layers</dt><dd>{} of {}</dd>"
        "<dt>non-relative share of it</dt><dd>{}</dd>"
        "<dt>non-relative share with key 0</dt><dd>{}</dd></dl></article>\n",
        index % 8, escape_html(result.cell.title),
        in_words(spreads[0].second, 1, "<b>{:.3g}</b> <span>({:.2g} to {:.2g})</span>"),
        spreads[0].second.layers, result.layers.size(), share(spreads[1].second),
        share(spreads[2].second));
  }
  return text + "</div>\n";
}

std::string methods(const Analysis& analysis) {
  std::vector<std::vector<Fact>> facts;
  for (const CellResult& result : analysis.cells) facts.push_back(facts_of(result));
  const auto everywhere = [&](const Fact& fact) {
    return std::all_of(facts.begin(), facts.end(), [&](const std::vector<Fact>& list) {
      return std::find(list.begin(), list.end(), fact) != list.end();
    });
  };
  std::vector<Fact> common;
  std::copy_if(facts.front().begin(), facts.front().end(), std::back_inserter(common), everywhere);
  std::string text = "<h3>The same in every cell</h3>\n" + definition_list(common);
  for (std::size_t index = 0; index < facts.size(); ++index) {
    std::erase_if(facts[index], [&](const Fact& fact) {
      return std::find(common.begin(), common.end(), fact) != common.end();
    });
    if (facts[index].empty()) continue;
    text += "<h3>" + escape_html(analysis.cells[index].cell.title) + "</h3>\n" +
            definition_list(facts[index]);
  }
  return text;
}

}  // namespace poslens
