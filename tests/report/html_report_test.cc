#include "report/html_report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "embedded/d3_js.h"
#include "poslens/error.h"
#include "poslens/map_report.h"
#include "report/html_chart.h"
#include "report/html_parts.h"
#include "report/measures_file.h"
#include "report/synthetic_analysis.h"

namespace poslens {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int kLayers = 6;

const Analysis& analysis() {
  static const Analysis instance = synthetic_analysis(40, kLayers, 40);
  return instance;
}

// The page without the text of its style and script elements.
std::string markup(const std::string& page) {
  std::string text = page;
  for (const std::string name : {"style", "script"}) {
    std::size_t from = 0;
    const std::string start = fmt::format("<{}", name);
    const std::string end = fmt::format("</{}>", name);
    while ((from = text.find(start, from)) != std::string::npos) {
      from = text.find('>', from) + 1;
      text.erase(from, text.find(end, from) - from);
    }
  }
  return text;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) {
    ++count;
  }
  return count;
}

// Every element that is opened is closed in the right order; attributes are quoted. Returns what
// is wrong, or nothing.
std::string what_is_not_well_formed(const std::string& html) {
  const std::set<std::string> without_end = {"meta", "input", "br", "!DOCTYPE"};
  const auto is_tag = testing::Matches(testing::MatchesRegex(
      "/?[!A-Za-z][A-Za-z0-9]*([ \n]+[A-Za-z][A-Za-z0-9-]*(=\"[^\"<>]*\")?)*[ \n]*/?"));
  std::vector<std::string> open;
  std::size_t at = 0;
  while ((at = html.find('<', at)) != std::string::npos) {
    // '>' may stand in an attribute only as &gt;.
    const std::size_t end = html.find('>', at);
    if (end == std::string::npos) return "a tag without end";
    const std::string tag = html.substr(at + 1, end - at - 1);
    at = end + 1;
    if (!is_tag(tag)) return fmt::format("odd tag: <{}>", tag);
    const std::string name = tag.substr(0, tag.find_first_of(" \n/", tag[0] == '/' ? 1 : 0));
    if (tag.back() == '/' || without_end.contains(name)) continue;
    if (tag[0] != '/') {
      open.push_back(name);
    } else if (open.empty() || open.back() != name.substr(1)) {
      return fmt::format("<{}> closes {}", tag, open.empty() ? "nothing" : open.back());
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : fmt::format("<{}> stays open", open.back());
}

TEST(WellFormed, TheCheckSeesMistakes) {
  EXPECT_EQ(what_is_not_well_formed("<p class=\"a\">x<br></p><i></i>"), "");
  EXPECT_NE(what_is_not_well_formed("<p><b></p></b>"), "");
  EXPECT_NE(what_is_not_well_formed("<p>"), "");
  EXPECT_NE(what_is_not_well_formed("<p class=a>x</p>"), "");
}

TEST(HtmlReport, IsWellFormed) {
  EXPECT_EQ(what_is_not_well_formed(markup(html_report(analysis()))), "");
}

TEST(HtmlReport, OpensWithTheAnswer) {
  const std::string page = html_report(analysis());
  const std::size_t answer =
      page.find("<p class=\"first\">In this model 45\u00a0% of the position signal");
  ASSERT_NE(answer, std::string::npos);
  EXPECT_LT(answer, page.find("<h2>"));
}

TEST(HtmlReport, ShowsTheFindingsAsBars) {
  const std::string page = html_report(analysis());
  const auto row = [&](const std::string& title) {
    const std::size_t from =
        page.find(fmt::format("<div class=\"bar-row\"><span class=\"name\">{}<", title));
    return from == std::string::npos ? std::string()
                                     : page.substr(from, page.find("</div>", from) - from);
  };
  EXPECT_THAT(row("RoPE, causal mask"), HasSubstr("45.0\u00a0±\u00a01.0\u00a0% not relative"));
  // Student's quantile for four groups is 3.1824: 0.905 -+ 0.0859.
  EXPECT_THAT(row("RoPE, causal mask"), HasSubstr("class=\"relative\" style=\"width:55.00%\""));
  EXPECT_THAT(row("RoPE, causal mask"), HasSubstr("class=\"other\" style=\"width:45.00%\""));
  EXPECT_THAT(row("RoPE, full mask"), HasSubstr("class=\"relative\" style=\"width:90.50%\""));
  EXPECT_THAT(row("RoPE, full mask"), HasSubstr("left:81.91%;width:17.19%"));
  EXPECT_THAT(row("no RoPE, full mask"), HasSubstr("within noise"));
  EXPECT_THAT(row("RoPE"), HasSubstr("class=\"relative\" style=\"width:63.00%\""));
  EXPECT_THAT(row("RoPE"), HasSubstr("class=\"other\" style=\"width:7.00%\""));
  EXPECT_THAT(row("the causal mask"), HasSubstr(">25.0\u00a0±\u00a01.0\u00a0%<"));
  EXPECT_EQ(row("no RoPE, causal mask"), "") << "nothing was found there";
}

// Of 420 x 270, 46 are left free at the left, 12 at the right and on top, 40 below.
TEST(Chart, PutsLayersInTheMiddleOfTheirColumns) {
  const Estimate nothing{std::numeric_limits<double>::quiet_NaN()};
  const std::string svg = draw_chart({.title = "a < b",
                                      .scale = ChartScale::share,
                                      .places = {4, 5, 6, 7},
                                      .lines = {{"x & y", 9, {{0.0}, {1.0}, nothing, {0.5}}}}});
  EXPECT_THAT(svg, HasSubstr("class=\"series s1\""));
  EXPECT_THAT(svg, HasSubstr("d=\"M91.2 230.0L181.8 12.0M362.8 121.0\""));
  EXPECT_THAT(svg, HasSubstr("<title>x &amp; y, layer 6: 100\u00a0%</title>"));
  EXPECT_THAT(svg, HasSubstr("<figcaption>a &lt; b</figcaption>"));
  EXPECT_THAT(svg, HasSubstr(">100 %</text>"));
}

TEST(Chart, IsLogarithmicInPositions) {
  // log 1, log 2, log 8: a third of the way, then all of it.
  const std::string svg = draw_chart({.title = "loss",
                                      .scale = ChartScale::logarithmic,
                                      .noun = "position",
                                      .places = {0, 1, 7},
                                      .lines = {{"a", 0, {{1.0}, {10.0}, {100.0}}, false}}});
  EXPECT_THAT(svg, HasSubstr("d=\"M46.0 230.0L166.7 121.0L408.0 12.0\""));
  EXPECT_THAT(svg, Not(HasSubstr("<title>")));
}

TEST(HtmlReport, ShowsTheEffectsOfEncodingAndMask) {
  Analysis known = analysis();
  EXPECT_THAT(html_report(known), Not(HasSubstr("What encoding and mask do")));
  for (int layer = 0; layer < 2; ++layer) {
    FactorialEffects effects;
    effects.layer = layer;
    effects.encoding.share = {0.7, 0.01};
    effects.mask.share_without_first_key = {0.25};
    effects.interaction.all_keys.total = {4, 1};
    effects.interaction.all_keys.nonrelative_share = {0.9, 0.03};
    known.effects.push_back(effects);
  }
  const std::string page = html_report(known);
  EXPECT_THAT(page, HasSubstr("<title>encoding, layer 2: 70.0\u00a0±\u00a01.0\u00a0%</title>"));
  EXPECT_THAT(page, HasSubstr("<title>mask, layer 1: 25.0\u00a0%</title>"));
  EXPECT_THAT(page, HasSubstr("<title>interaction, layer 1: 90.0\u00a0±\u00a03.0\u00a0%</title>"));
}

TEST(HtmlReport, ShowsTheLossWhereItIsKnown) {
  Analysis known = analysis();
  EXPECT_THAT(html_report(known), Not(HasSubstr("Loss by position")));
  known.cells[2].map.loss = {4, 2, 1};
  const std::string page = html_report(known);
  const std::string section = page.substr(page.find("<section id=\"loss\">"));
  const std::string chart = section.substr(0, section.find("</section>"));
  EXPECT_EQ(occurrences(chart, "<li "), 1U);
  EXPECT_THAT(chart, HasSubstr("<li class=\"s2\">no RoPE, causal mask</li>"));
  // Three positions, one a bin; a twentieth of 4 - 1 is left free above and below.
  EXPECT_THAT(chart, HasSubstr("M46.0 21.9L274.4 154.0L408.0 220.1"));
}

TEST(Prose, SetsNumbersAsInPrint) {
  EXPECT_EQ(prose("i - j is -0.2 ± 1.1 % (-3) <e-5>"),
            "i\u00a0−\u00a0j is −0.2\u00a0±\u00a01.1\u00a0% (−3) &lt;e-5&gt;");
  EXPECT_EQ(prose("a % of x-1"), "a % of x-1");
}

TEST(HtmlReport, HoldsEveryNumberOfEveryLayer) {
  const std::string page = html_report(analysis());
  const auto expect = [&](const std::string& number) {
    EXPECT_THAT(page, HasSubstr(fmt::format(">{}</td>", prose(number))));
  };
  for (const CellResult& result : analysis().cells) {
    for (const LayerMeasures& layer : result.layers) {
      for (const Decomposition* parts : {&layer.all_keys, &layer.without_first_key}) {
        expect(format_estimate(parts->total));
        expect(format_share(parts->nonrelative_share));
        expect(format_share(parts->nonkey_share));
        expect(format_share(parts->remainder_share));
      }
      expect(format_estimate(layer.nearness));
      expect(format_estimate(layer.nearness_without_first_key));
    }
  }
  // One row for each layer in the overview and in each cell's table.
  EXPECT_EQ(occurrences(page, "<th scope=\"row\""), kLayers * (1 + analysis().cells.size()));
}

TEST(HtmlReport, HoldsTheMapsOfEveryLayerOfEachCell) {
  const std::string page = html_report(analysis());
  EXPECT_EQ(occurrences(page, "class=\"thumb\""), kLayers);
  EXPECT_EQ(occurrences(page, "\"codes\":"), kLayers * analysis().cells.size());
}

TEST(HtmlReport, RefersToNothingOutside) {
  std::string page = html_report(analysis());
  for (const char* attribute : {" src=", " href=", " srcset=", " action="}) {
    EXPECT_THAT(markup(page), Not(HasSubstr(attribute)));
  }
  // D3 names XML namespaces and its own home.
  const std::size_t d3 = page.find(embedded::d3_js);
  ASSERT_NE(d3, std::string::npos);
  EXPECT_THAT(std::string(embedded::d3_js), HasSubstr("Copyright 2010-2022 Mike Bostock"));
  page.erase(d3, embedded::d3_js.size());
  for (const char* outside : {"http:", "https:", "url(", "@import", "fetch(", "XMLHttpRequest"}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(HtmlReport, PrintsNoNan) {
  // The cells without encoding and causal mask have shares that are NaN.
  const auto& layers = analysis().cells[3].layers;
  ASSERT_TRUE(std::any_of(layers.begin(), layers.end(), [](const LayerMeasures& layer) {
    return std::isnan(layer.all_keys.nonrelative_share.value);
  }));
  for (const char* word : {"[nN]a[nN]", "inf", "null"}) {
    EXPECT_THAT(markup(html_report(analysis())),
                Not(testing::ContainsRegex(fmt::format("[^a-z]{}[^a-z]", word))));
  }
  EXPECT_THAT(map_data(analysis(), 1), Not(HasSubstr("null")));
}

TEST(HtmlReport, TakesNamesAndTextsLiterally) {
  Analysis hostile = analysis();
  const std::string bad = "</script><script>alert('x')</script>\" onload=\"x & \xff";
  hostile.model_name = bad;
  hostile.answer = bad + "\n" + bad;
  for (CellResult& result : hostile.cells) {
    result.cell.title = bad + result.cell.name;
    Provenance& provenance = result.map.provenance;
    for (std::string* text :
         {&provenance.averaging, &provenance.model, &provenance.model_fingerprint,
          &provenance.bos_policy, &provenance.text, &provenance.text_fingerprint,
          &provenance.program, &provenance.command_line, &provenance.engine}) {
      *text = bad;
    }
    provenance.options.emplace_back(bad, bad);
    provenance.interventions = {bad};
  }
  const std::string page = html_report(hostile);
  EXPECT_EQ(what_is_not_well_formed(markup(page)), "");
  EXPECT_EQ(occurrences(page, "<script"), 3U) << "the map data, D3 and our own";
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, HasSubstr("&lt;/script&gt;&lt;script&gt;alert(&#39;x&#39;)"));
  EXPECT_THAT(page, Not(HasSubstr("\xff")));
}

TEST(HtmlReport, SaysHowItWasMeasured) {
  const std::string page = html_report(analysis());
  for (const char* fact : {"A mean map says nothing about one sequence", "16 sequences and 9 heads",
                           "16 used, 3 too short and skipped", "the file adds none; none added",
                           "0123456789abcdef", "poslens analyze model.gguf --text /tmp/texts",
                           "rope=none, mask=full", "yes, within each sequence"}) {
    EXPECT_THAT(page, HasSubstr(fact));
  }
  // What all cells share is said once.
  EXPECT_EQ(occurrences(page, "16 used, 3 too short and skipped"), 1U);
}

// Maps of noise, which nothing makes smaller; every other cell shows all pairs.
Analysis large_analysis(std::int64_t n, std::size_t cells) {
  constexpr int layers = 32;
  Analysis large;
  large.answer = "None.";
  std::vector<int> numbers(layers);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::uint32_t state = 1;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    CellResult result{.cell = {fmt::format("cell_{}", cell), "a cell", {}, false},
                      .map = ScoreMap::sized(numbers, n),
                      .layers = std::vector<LayerMeasures>(layers),
                      .variation = {}};
    for (std::size_t at = 0; at < result.map.scores.size(); ++at) {
      const auto i = static_cast<std::int64_t>(at) / n % n;
      const auto j = static_cast<std::int64_t>(at) % n;
      if (cell % 2 == 0 && j > i) continue;
      state = state * 1664525U + 1013904223U;
      result.map.scores[at] = static_cast<float>(state >> 8U) / 65536.0F;
      result.map.count[at % result.map.count.size()] = 64;
    }
    result.curves = curves_of(result.map);
    large.cells.push_back(std::move(result));
  }
  return large;
}

TEST(HtmlReport, StaysBelowSixMegabytes) {
  const Analysis wide = large_analysis(1024, 2);
  const std::string page = html_report(wide);
  EXPECT_LT(page.size(), 6e6);
  EXPECT_THAT(page, HasSubstr("\"n\":1024,\"block\":"));
  Analysis many = large_analysis(256, 6);
  EXPECT_LT(html_report(many).size(), 6e6);
  EXPECT_EQ(block_within(many, 19'900'000), 1U);
  EXPECT_EQ(block_within(many, 5'000'000), 2U);
  // Numbers of samples by block need room too.
  for (CellResult& result : many.cells) result.map.count[0] = 1'000'000;
  EXPECT_EQ(block_within(many, 19'900'000), 2U);
  EXPECT_LT(html_report(many).size(), 6e6);
}

TEST(HtmlReport, RefusesAnAnalysisWithoutNumbers) {
  EXPECT_THROW(html_report(Analysis()), Error);
  Analysis uneven = analysis();
  uneven.cells[1].layers.pop_back();
  EXPECT_THROW(html_report(uneven), Error);
}

TEST(HtmlReport, MediansOverLayersAreInTheFile) {
  Analysis known = analysis();
  CellResult& first = known.cells[0];
  const double totals[] = {4, 1, 0.1, 8, 2, 0};
  for (std::size_t place = 0; place < kLayers; ++place) {
    Decomposition& parts = first.layers[place].without_first_key;
    parts.total = {totals[place], 0.2};
    parts.nonrelative_share.value = 0.1 * totals[place];
  }
  // Layers of 0.1 and 0 have no signal.
  const auto json = nlohmann::json::parse(measures_json(known)).at("cells").at(0);
  EXPECT_EQ(json.at("over_layers").at("total_without_first_key"),
            nlohmann::json({{"layers", 4}, {"median", 3}, {"smallest", 1}, {"largest", 8}}));
  EXPECT_THAT(html_report(known), HasSubstr("<b>3</b> <span>(1 to 8)</span>"));
  EXPECT_THAT(html_report(known), HasSubstr("<b>30 %</b> <span>(10 to 80)</span>"));
  EXPECT_THAT(html_report(known), HasSubstr("<dd>4 of 6</dd>"));
}

ScoreMap map_of(Source source) {
  ScoreMap map = synthetic_cell(kSyntheticCells[0], 12, 2).map;
  map.source = source;
  if (source != Source::model) map.provenance.model.clear();
  return map;
}

TEST(MapReport, ShowsMapsOfAnySourceWithoutAnAnswer) {
  ScoreMap theory = map_of(Source::theory);
  theory.groups = 0;
  theory.scores_groups.clear();
  for (float& score : theory.scores) score /= 2;
  const MapReport report = map_report(
      {measured_cell("the <model>", map_of(Source::model)), measured_cell("theory", theory)}, "");
  const std::string page = markup(report.html);
  EXPECT_EQ(what_is_not_well_formed(page), "");
  EXPECT_THAT(page, HasSubstr("<h1>Attention scores of synthetic and theory</h1>"));
  EXPECT_THAT(page, HasSubstr("the &lt;model&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("id=\"answer\"")));
  EXPECT_THAT(page, Not(HasSubstr("gets positional information from")));
  EXPECT_THAT(page, HasSubstr("Files without groups of samples"));
  EXPECT_THAT(page, HasSubstr("value=\"difference\""));
  EXPECT_EQ(occurrences(page, "<dt>Tokens shuffled</dt>"), 1U) << "of the model alone";
  // Lines: a heading, and two layers of each map.
  EXPECT_EQ(occurrences(report.measures_csv, "\n"), 5U);
  EXPECT_EQ(occurrences(report.measures_csv, "\nthe__model_,"), 2U);
  EXPECT_EQ(occurrences(report.measures_csv, "\ntheory,"), 2U);
  EXPECT_THAT(report.curves_csv, HasSubstr("\ntheory,1,"));
}

TEST(MapReport, OfOneMapHasNothingToSubtract) {
  const MapReport report = map_report({measured_cell("only", map_of(Source::simulation))}, "Mine");
  const std::string page = markup(report.html);
  EXPECT_EQ(what_is_not_well_formed(page), "");
  EXPECT_THAT(page, HasSubstr("<h1>Mine</h1>"));
  EXPECT_THAT(page, Not(HasSubstr("value=\"difference\"")));
  EXPECT_THAT(page, Not(HasSubstr("Files without groups of samples")));
}

TEST(MapReport, CellsMustHaveOneShape) {
  const CellResult cell = measured_cell("a", map_of(Source::model));
  const auto message = [&](const ScoreMap& other) -> std::string {
    try {
      map_report({cell, measured_cell("b", other)}, "");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message(synthetic_cell(kSyntheticCells[0], 13, 2).map),
              HasSubstr("b: expected positions 12, as in a, found 13"));
  EXPECT_THAT(message(synthetic_cell(kSyntheticCells[0], 12, 3).map),
              HasSubstr("b: expected layers 0,1, as in a, found 0,1,2"));
  EXPECT_THROW(map_report({}, ""), Error);
}

TEST(HasSignal, NeedsTwoStandardErrors) {
  Decomposition parts;
  parts.total.value = 1;
  parts.total.standard_error = 0.4;
  EXPECT_TRUE(has_signal(parts));
  parts.total.standard_error = 0.6;
  EXPECT_FALSE(has_signal(parts));
  parts.total.standard_error = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(has_signal(parts)) << "nothing is known of the noise of a map without groups";
  parts.total.value = 0;
  EXPECT_FALSE(has_signal(parts));
}

}  // namespace
}  // namespace poslens
