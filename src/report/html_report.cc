#include "report/html_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "embedded/d3_js.h"
#include "embedded/report_css.h"
#include "embedded/report_curves_js.h"
#include "embedded/report_maps_js.h"
#include "embedded/report_tables_js.h"
#include "embedded/report_values_js.h"
#include "poslens/error.h"
#include "report/html_parts.h"

namespace poslens {
namespace {

std::string section(const char* id, const char* title, std::string_view lead,
                    const std::string& body) {
  return fmt::format("<section id=\"{}\"><h2>{}</h2>\n<p class=\"lead\">{}</p>\n{}</section>\n", id,
                     title, lead, body);
}

constexpr std::size_t kLargestPage = 5'900'000;  // bytes
constexpr std::size_t kCurveSize = 3000;         // bytes of a layer's curves, at most

std::size_t curve_size(const Analysis& analysis) {
  return kCurveSize * analysis.cells.size() * analysis.cells.front().layers.size();
}

void check(const Analysis& analysis) {
  if (analysis.cells.empty()) throw Error("report: the analysis has no cells");
  const std::size_t layers = analysis.cells.front().layers.size();
  for (const CellResult& result : analysis.cells) {
    if (layers == 0 || result.layers.size() != layers) {
      throw Error("report: cell " + result.cell.name + ": expected the measures of " +
                  std::to_string(std::max<std::size_t>(layers, 1)) + " layers, found " +
                  std::to_string(result.layers.size()));
    }
    if (result.map.n != analysis.cells.front().map.n ||
        result.map.layers != analysis.cells.front().map.layers || result.curves.size() != layers) {
      throw Error("report: cell " + result.cell.name +
                  ": expected map and curves of the same positions and layers as the first cell's");
    }
  }
}

constexpr const char* kGlance =
    "Medians over the layers whose position signal exceeds two standard errors, smallest and "
    "largest in "
    "brackets; by chance alone it does so in a few layers of a hundred. The "
    "<em>position signal</em> is how scores vary over keys (mean square) once row means, which "
    "change no attention, are gone. Its <em>non-relative share</em> is the part that no function "
    "of the distance between query and key explains. Key 0 is often an attention sink.";
constexpr const char* kCurves =
    "Bars are intervals of 95 %, from groups of sequences. A layer is left out where its position "
    "signal cannot be told from zero (two standard errors): a share of it would be noise.";
constexpr const char* kMaps =
    "Mean score of each query (down) and key (across), before the mask and softmax; hidden pairs "
    "are blank. Diagonal-normalised: minus the mean over the same distance, so that a purely "
    "relative map is flat. Click a layer to see it large, and point at that map to read it.";
constexpr const char* kLayerCurves =
    "Mean scores of the layer chosen above, each minus the mean of its row: what a query adds to "
    "all its keys changes no attention. Bands are intervals of 95 %, from groups of sequences; "
    "the axis of distances and positions is logarithmic.";
constexpr const char* kEffects =
    "The two-by-two design: what the encoding does by itself under either mask, what the mask does "
    "with or without encoding, and what they do only together. Each effect is a map; shares are of "
    "the three maps’ sizes. Bars are intervals of 95 %. effects.csv has the numbers.";
constexpr const char* kLoss =
    "Mean cross entropy of the next token, over ranges of positions that grow. What position "
    "contributes to prediction shows where the curves part. Under a full mask a token sees the one "
    "that it predicts; the loss tells then how far the model is from what it was trained for. "
    "The file beside this page that ends in loss.csv has every position.";
constexpr const char* kDecoding =
    "What a single token knows, where maps are means: a ridge fit of its position to its state in "
    "the residual stream, made on the first half of the sequences and tested on the others, the "
    "first token left out. R² is 0 where nothing is known, and 1 where the position is certain; "
    "below it the mean absolute error. ± is one standard error over groups of tested sequences. "
    "decoding.csv has the intervals.";
constexpr const char* kTables =
    "Value ± standard error. Greyed: the position signal is within two standard errors of zero, "
    "and a share of it means nothing. Layers are counted from 1 here; layer 1 is layer 0 in files "
    "and options. Click a heading to sort. The file beside this page that ends in measures.csv has "
    "these and all other measures of every layer.";
constexpr const char* kMethods =
    "Every map here is an expectation: a mean over sequences, or over the samples of a simulation. "
    "A mean map says nothing about one sequence. Shares come from least-squares fits of the map by "
    "functions of query position "
    "<var>g</var>(<var>i</var>), distance <var>f</var>(<var>i</var>−<var>j</var>) and key position "
    "<var>h</var>(<var>j</var>) over pairs <var>i</var> &gt; <var>j</var>: the non-relative share "
    "is RSS(<var>f</var>+<var>g</var>) / RSS(<var>g</var>). Products of residuals of disjoint "
    "groups of sequences make the estimates unbiased, which is why a share can come out slightly "
    "below zero; standard errors are jackknifed over the groups.";

constexpr const char* kWithoutGroups =
    " Files without groups of samples give numbers without ±: their error is not known, and noise, "
    "where samples were drawn, counts as signal.";

bool has_groups(const CellResult& result) {
  return std::isfinite(result.layers.front().all_keys.total.standard_error);
}

}  // namespace

std::string html_report(const Analysis& analysis, const std::string& heading) {
  check(analysis);
  const std::string title =
      escape_html(heading.empty() ? fmt::format("Where {} gets positional information from",
                                                analysis.model_name)
                                  : heading);
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      // Nothing may be fetched, whatever names and paths hold.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n";
  page += "<title>" + title + "</title>\n<style>\n";
  page += embedded::report_css;
  page += "</style>\n</head>\n<body>\n<header><p class=\"eyebrow\">PosLens report</p><h1>" + title +
          "</h1></header>\n<main>\n";
  if (heading.empty()) {
    page += "<section id=\"answer\">\n" + answer_part(analysis) + "</section>\n";
  }
  std::string lead = kGlance;
  if (!std::all_of(analysis.cells.begin(), analysis.cells.end(), has_groups)) {
    lead += kWithoutGroups;
  }
  page += section("glance", "At a glance", lead, key_numbers(analysis));
  page += section("curves", "Layer by layer", kCurves, curves(analysis));
  const std::string design = effects(analysis);
  if (!design.empty()) page += section("effects", "What encoding and mask do", kEffects, design);
  page += section("maps", "Maps of every layer", kMaps, heat_maps(analysis));
  page += section("profiles", "By distance and by position", kLayerCurves, layer_curves(analysis));
  const std::string loss = losses(analysis);
  if (!loss.empty()) page += section("loss", "Loss by position", kLoss, loss);
  const std::string decoded = decoding_table(analysis);
  if (!decoded.empty()) page += section("decoding", "Position from one token", kDecoding, decoded);
  page += section("tables", "Numbers by layer", kTables, tables(analysis));
  page += section("methods", "How this was measured", kMethods, methods(analysis));
  std::string end = "</main>\n<script>\n";
  end += embedded::d3_js;
  end += "</script>\n<script>\n\"use strict\";\n";
  for (const std::string_view script : {embedded::report_values_js, embedded::report_maps_js,
                                        embedded::report_curves_js, embedded::report_tables_js}) {
    end += script;
  }
  end += "</script>\n</body>\n</html>\n";
  // The maps take what is left.
  const std::size_t rest = page.size() + end.size() + curve_size(analysis);
  const std::size_t limit = rest < kLargestPage ? kLargestPage - rest : 0;
  return page + map_data(analysis, block_within(analysis, limit)) + end;
}

}  // namespace poslens
