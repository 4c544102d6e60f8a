// The report as a reader sees it, in headless Chromium.
#include "report/browser.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "poslens/decomposition.h"
#include "poslens/figure.h"
#include "poslens/pooling.h"
#include "report/html_report.h"
#include "report/synthetic_analysis.h"

namespace poslens {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::size_t kPositions = 300;
constexpr std::size_t kBlock = 2;  // the smallest with at most 256 values per side
constexpr int kLayers = 5;
constexpr int kWidths[] = {400, 1600};

const Analysis& analysis() {
  static const Analysis instance = synthetic_analysis(kPositions, kLayers, 40);
  return instance;
}

Matrix<float> pooled(std::size_t cell, std::size_t place) {
  return pool_mean(analysis().cells.at(cell).map.layer(place), kBlock);
}

// "score −1.23 (mean)" -> -1.23, and how much one of its last digit is worth.
std::pair<double, double> number_after(const std::string& tip, const std::string& words) {
  const std::size_t at = tip.find(words);
  if (at == std::string::npos) return {NAN, NAN};
  std::string text = tip.substr(at + words.size());
  text = text.substr(0, text.find_first_of(" \n"));
  const std::string minus = "−";
  if (text.starts_with(minus)) text = '-' + text.substr(minus.size());
  const std::size_t point = text.find('.');
  const double unit =
      point == std::string::npos ? 1 : std::pow(10, -static_cast<double>(text.size() - point - 1));
  return {std::stod(text), unit};
}

// A number is shown right when it is nearer than one of its last digit, and has three digits or
// more of the map's range.
void expect_number(const Json& tip, const std::string& words, double expected) {
  const auto [shown, unit] = number_after(tip.get<std::string>(), words);
  EXPECT_LT(std::abs(shown - expected), unit) << tip << ", expected " << expected;
  EXPECT_LE(unit, 0.011) << tip;
}

struct Pair {
  std::size_t query, key;
};
constexpr Pair kPairs[] = {{0, 0}, {1, 0}, {299, 299}, {299, 0}, {150, 149}, {201, 77}, {77, 76}};

Json point(const Pair& pair) { return {{"point", {pair.query, pair.key}}}; }

// What a reader does.
std::vector<Json> pointing() {
  std::vector<Json> steps;
  for (const Pair& pair : kPairs) steps.push_back(point(pair));
  for (const char* key : {"2", "ArrowRight", "ArrowRight", "ArrowRight"}) {
    steps.push_back({{"key", key}});
  }
  for (const Pair& pair : kPairs) steps.push_back(point(pair));
  steps.push_back({{"key", "n"}});
  for (const Pair& pair : kPairs) steps.push_back(point(pair));
  steps.push_back({{"key", "d"}});
  for (const Pair& pair : kPairs) steps.push_back(point(pair));
  steps.push_back(point({10, 200}));
  return steps;
}

std::vector<Json> switching() {
  const Json caption = {{"text", "#large figcaption"}};
  const Json chosen = {{"text", "#map-controls input:checked + span"}};
  const Json pressed = {{"text", ".thumb[aria-pressed=true]"}};
  return {caption,
          chosen,
          pressed,
          {{"key", "3"}},
          {{"key", "n"}},
          {{"key", "s"}},
          caption,
          chosen,
          {{"click", ".thumb[data-place=\"4\"]"}},
          caption,
          pressed,
          {{"key", "ArrowRight"}},
          pressed,
          {{"key", "ArrowLeft"}},
          pressed,
          {{"key", "1"}},
          {{"key", "d"}},
          caption,
          {{"click", "#map-controls input[value=raw]"}},
          {{"key", "q"}},
          chosen};
}

std::vector<Json> colouring() {
  return {{{"key", "f"}},
          {{"choose", {"input[name=from]", "-0.5"}}},
          {{"choose", {"input[name=to]", "2.5"}}},
          {{"pixel", {201, 200}}},
          {{"pixel", {200, 10}}},
          {{"pixel", {10, 200}}},
          {{"text", ".bar-axis text"}},
          {{"key", "n"}},
          {{"choose", {"input[name=from]", "-1"}}},
          {{"choose", {"input[name=to]", "1"}}},
          {{"pixel", {201, 200}}}};
}

std::vector<Json> choosing_curves() {
  const Json lines = {{"text", "#by-distance .series"}};
  return {{{"text", "#curves-title"}},
          lines,
          {{"click", ".toggles input[value=\"1\"]"}},
          lines,
          {{"key", "ArrowRight"}},
          {{"text", "#curves-title"}},
          {{"text", "#by-key .s0 title"}},
          {{"hover", "#by-key .s0 circle"}}};
}

std::vector<Json> sorting() {
  const Json layers = {{"text", "#nonrelative-share tbody th"}};
  return {{{"click", "#nonrelative-share th:nth-child(2) .sort"}},
          layers,
          {{"click", "#nonrelative-share th:nth-child(2) .sort"}},
          layers,
          {{"csv", ".csv[data-table=measures-rope_causal]"}}};
}

std::vector<Json> measuring() {
  return {{{"overflow", true}},
          {{"overlaps", ".plot .x-axis text"}},
          {{"overlaps", ".plot .y-axis text"}},
          {{"overlaps", ".plot .bar text"}},
          {{"overlaps", "#by-distance .axis text"}},
          {{"overlaps", ".thumb"}},
          {{"overlaps", ".controls label > span"}},
          {{"overlaps", ".plot canvas, .bar"}}};
}

// All of them in one Chromium, which takes longer to start than the page to draw.
class Browser : public testing::TestWithParam<int> {
 protected:
  static void SetUpTestSuite() {
    if (!has_browser()) return;
    for (const int width : kWidths) {
      for (const auto& make :
           {pointing, switching, colouring, choosing_curves, sorting, measuring}) {
        visits().push_back({width, make()});
      }
    }
    seen() = visit(html_report(analysis()), visits());
  }
  void SetUp() override {
    if (!has_browser()) {
      GTEST_SKIP() << "chromium is not installed: `scripts/install-deps.sh test` installs it";
    }
  }
  // What these steps gave at this width; the page must have no other fault.
  static std::vector<Json> results(const std::vector<Json>& steps) {
    const auto is = [&](const Visit& one) { return one.width == GetParam() && one.steps == steps; };
    const auto found = std::find_if(visits().begin(), visits().end(), is);
    const Seen& one = seen().at(static_cast<std::size_t>(found - visits().begin()));
    EXPECT_EQ(one.width, GetParam());
    EXPECT_THAT(one.problems, IsEmpty());
    EXPECT_EQ(one.results.size(), steps.size());
    return one.results;
  }

 private:
  static std::vector<Visit>& visits() {
    static std::vector<Visit> instance;
    return instance;
  }
  static std::vector<Seen>& seen() {
    static std::vector<Seen> instance;
    return instance;
  }
};

TEST_P(Browser, PointingShowsTheRightNumbers) {
  const Matrix<float> raw = pooled(0, 0);
  const Matrix<float> later = pooled(1, 3);
  const Matrix<float> base = pooled(0, 3);
  const Matrix<float> normalised = diagonal_normalised(later.view());
  const std::vector<Json> seen = results(pointing());
  std::size_t at = 0;
  for (const Pair& pair : kPairs) {
    EXPECT_THAT(seen[at].get<std::string>(),
                testing::StartsWith(fmt::format("query {} to {}, key {} to {}\n",
                                                pair.query / 2 * 2, pair.query / 2 * 2 + 1,
                                                pair.key / 2 * 2, pair.key / 2 * 2 + 1)));
    EXPECT_THAT(seen[at].get<std::string>(), testing::EndsWith("\n16 samples"));
    expect_number(seen[at++], "score ", raw(pair.query / 2, pair.key / 2));
  }
  at += 4;
  for (const Pair& pair : kPairs) {
    expect_number(seen[at++], "score ", later(pair.query / 2, pair.key / 2));
  }
  ++at;
  for (const Pair& pair : kPairs) {
    expect_number(seen[at++], "mean by ", normalised(pair.query / 2, pair.key / 2));
  }
  ++at;
  for (const Pair& pair : kPairs) {
    const double difference =
        later(pair.query / 2, pair.key / 2) - base(pair.query / 2, pair.key / 2);
    expect_number(seen[at++], "difference ", difference);
  }
  EXPECT_EQ(seen[at], "query 10 to 11, key 200 to 201\nhidden by the mask");
}

TEST_P(Browser, KeysAndClicksSwitchWhatIsShown) {
  const std::vector<Json> seen = results(switching());
  EXPECT_THAT(seen[0], ElementsAre("Layer 1 RoPE, causal mask; mean score"));
  EXPECT_THAT(seen[1],
              ElementsAre("RoPE, causal mask 1", "raw scores r", "each map’s 1 % to 99 % q"));
  EXPECT_THAT(seen[2], ElementsAre("1"));
  EXPECT_THAT(seen[6],
              ElementsAre("Layer 1 no RoPE, causal mask; mean score minus its diagonal’s mean"));
  EXPECT_THAT(seen[7], ElementsAre("no RoPE, causal mask 3", "diagonal-normalised n",
                                   "the same in all layers s"));
  EXPECT_THAT(seen[9],
              ElementsAre("Layer 5 no RoPE, causal mask; mean score minus its diagonal’s mean"));
  EXPECT_THAT(seen[10], ElementsAre("5"));
  EXPECT_THAT(seen[12], ElementsAre("5")) << "there is no layer after the last";
  EXPECT_THAT(seen[14], ElementsAre("4"));
  EXPECT_THAT(seen[17], ElementsAre("Layer 4 RoPE, full mask; minus RoPE, causal mask"))
      << "not a map minus itself";
  EXPECT_THAT(seen[20],
              ElementsAre("RoPE, full mask 2", "raw scores r", "each map’s 1 % to 99 % q"));
}

double channel(unsigned colour, int shift) { return colour >> static_cast<unsigned>(shift) & 255U; }

TEST_P(Browser, ColoursAreThoseOfTheRangeAskedFor) {
  const std::vector<Json> seen = results(colouring());
  const Matrix<float> raw = pooled(0, 0);
  const Matrix<float> normalised = diagonal_normalised(raw.view());
  const auto expect_colour = [](const Json& pixel, Palette palette, double part) {
    const unsigned expected = palette_colour(palette, part);
    for (const int shift : {0, 8, 16}) {
      EXPECT_NEAR(channel(pixel.get<unsigned>(), shift), channel(expected, shift), 4);
    }
  };
  expect_colour(seen[3], Palette::rocket, (raw(100, 100) + 0.5) / 3);
  expect_colour(seen[4], Palette::rocket, (raw(100, 5) + 0.5) / 3);
  EXPECT_EQ(seen[5], -1) << "hidden";
  EXPECT_THAT(seen[6], testing::Contains("2.5"));
  expect_colour(seen[10], Palette::diverging, (normalised(100, 100) + 1) / 2);
}

TEST_P(Browser, CurvesFollowTheLayerAndTheCells) {
  const std::vector<Json> seen = results(choosing_curves());
  EXPECT_THAT(seen[0], ElementsAre("Layer 1"));
  EXPECT_EQ(seen[1].size(), 6U);
  EXPECT_EQ(seen[3].size(), 5U);
  EXPECT_THAT(seen[5], ElementsAre("Layer 2"));
  const Curve& curve = analysis().cells[0].curves[1].by_key;
  ASSERT_EQ(seen[6].size(), curve.mean.size());
  const double reach = confidence_interval(curve.mean[0]).high - curve.mean[0].value;
  const std::string sink = seen[6][0].get<std::string>();
  EXPECT_THAT(sink, testing::StartsWith("RoPE, causal mask, 0: "));
  EXPECT_NEAR(number_after(sink, "0: ").first, curve.mean[0].value, 0.001);
  EXPECT_THAT(seen[7].get<std::string>(), testing::StartsWith("key 0\nRoPE, causal mask: "));
  EXPECT_EQ(number_after(seen[7], "RoPE, causal mask: "), number_after(sink, "0: "));
  EXPECT_EQ(number_after(seen[7], "± "), number_after(sink, "± "));
  EXPECT_NEAR(number_after(sink, "± ").first, reach, 0.06 * reach);
}

TEST_P(Browser, TablesAreSortedAndDownloaded) {
  const std::vector<Json> seen = results(sorting());
  const std::vector<LayerMeasures>& measures = analysis().cells[0].layers;
  std::vector<std::string> ascending;
  ascending.reserve(kLayers);
  std::vector<int> order(kLayers);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return measures[static_cast<std::size_t>(a)].all_keys.nonrelative_share.value <
           measures[static_cast<std::size_t>(b)].all_keys.nonrelative_share.value;
  });
  for (const int layer : order) ascending.push_back(std::to_string(layer + 1));
  EXPECT_EQ(seen[1], Json(ascending));
  std::reverse(ascending.begin(), ascending.end());
  EXPECT_EQ(seen[3], Json(ascending));
  std::istringstream csv(seen[4].get<std::string>());
  std::string line;
  std::getline(csv, line);
  EXPECT_THAT(line, testing::StartsWith("layer,Total,Total standard error,Non-relative,"));
  std::getline(csv, line);
  EXPECT_THAT(line, testing::StartsWith(fmt::format("0,{:.9g},{:.9g},{:.9g},",
                                                    measures[0].all_keys.total.value,
                                                    measures[0].all_keys.total.standard_error,
                                                    measures[0].all_keys.nonrelative_share.value)));
}

TEST_P(Browser, NothingOverlapsOrRunsOver) {
  const std::vector<Json> seen = results(measuring());
  for (const Json& result : seen) EXPECT_EQ(result, 0);
}

INSTANTIATE_TEST_SUITE_P(Widths, Browser, testing::ValuesIn(kWidths));

}  // namespace
}  // namespace poslens
