#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include "figures/gnuplot.h"
#include "figures/heat_map_script.h"
#include "poslens/error.h"
#include "poslens/figure.h"
#include "support/temporary_folder.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

std::string content(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Panel causal_panel(std::size_t n, std::string title) {
  Panel panel;
  panel.title = std::move(title);
  panel.values = Matrix<float>(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      panel.values(i, j) = j > i ? std::numeric_limits<float>::quiet_NaN()
                                 : std::exp(-static_cast<float>(i - j) / 10.0F);
    }
  }
  return panel;
}

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

class Variable {  // an environment variable, put back afterwards
 public:
  Variable(const char* name, const char* value) : name_(name), before_(std::getenv(name)) {
    setenv(name, value, 1);
  }
  ~Variable() { setenv(name_, before_.c_str(), 1); }

 private:
  const char* name_;
  std::string before_;
};

TEST(DrawHeatMaps, TheExtensionDecidesTheFormat) {
  const TemporaryFolder folder;
  const std::vector<Panel> panels = {causal_panel(8, "one"), causal_panel(8, "two")};
  draw_heat_maps(panels, {}, folder.path() / "a.svg");
  draw_heat_maps(panels, {}, folder.path() / "a.png");
  draw_heat_maps(panels, {}, folder.path() / "a.pdf");
  EXPECT_THAT(content(folder.path() / "a.svg"), HasSubstr("</svg>"));
  EXPECT_THAT(content(folder.path() / "a.png"), StartsWith("\x89PNG"));
  EXPECT_THAT(content(folder.path() / "a.pdf"), StartsWith("%PDF"));
  EXPECT_EQ(entries(folder.path()), 9U) << "each with a script and a data folder, nothing else";
  EXPECT_THROW(draw_heat_maps(panels, {}, folder.path() / "a.jpg"), UsageError);
}

TEST(DrawHeatMaps, TheScriptDrawsTheSameFigureAgainWhereverItIs) {
  const TemporaryFolder folder;
  FigureOptions options;
  options.contours = 4;
  draw_heat_maps({causal_panel(8, "one")}, options, folder.path() / "a.png");
  const std::string first = content(folder.path() / "a.png");
  const fs::path moved = folder.path() / "moved";
  fs::create_directory(moved);
  for (const char* name : {"a.png.gnuplot", "a.png.data"}) {
    fs::rename(folder.path() / name, moved / name);
  }
  run_gnuplot(moved / "a.png.gnuplot");
  EXPECT_EQ(content(moved / "a.png"), first);
}

TEST(DrawHeatMaps, TheDataFolderHoldsTheValues) {
  const TemporaryFolder folder;
  const Panel panel = causal_panel(8, "one");
  draw_heat_maps({panel}, {}, folder.path() / "a.svg");
  const std::string bytes = content(folder.path() / "a.svg.data" / "panel-01.f32");
  ASSERT_EQ(bytes.size(), 8 * 8 * sizeof(float));
  EXPECT_EQ(std::memcmp(bytes.data(), panel.values.values().data(), bytes.size()), 0);
}

TEST(DrawHeatMaps, ReplacesAnOlderFigureAndItsData) {
  const TemporaryFolder folder;
  const Panel panel = causal_panel(8, "one");
  draw_heat_maps({panel, panel, panel}, {}, folder.path() / "a.svg");
  draw_heat_maps({panel}, {}, folder.path() / "a.svg");
  EXPECT_EQ(entries(folder.path() / "a.svg.data"), 1U);
}

TEST(DrawHeatMaps, LeavesAFolderInTheWayAlone) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "a.svg";
  fs::create_directory(path);
  std::ofstream(path / "precious") << "keep";
  EXPECT_THROW(draw_heat_maps({causal_panel(4, "one")}, {}, path), Error);
  EXPECT_TRUE(fs::exists(path / "precious"));
}

TEST(DrawHeatMaps, TakesTitlesAndNamesLiterally) {
  const TemporaryFolder folder;
  FigureOptions options;
  options.title = "it's `touch x` @here {\\bf <b>} α";
  const std::string name = "-e 'odd' | $(touch y) & name.svg";
  draw_heat_maps({causal_panel(4, "100% _a_ \"b\"")}, options, folder.path() / name);
  EXPECT_THAT(content(folder.path() / name), HasSubstr("it's `touch x` @here {\\bf &lt;b>} α"));
  EXPECT_EQ(entries(folder.path()), 3U);
  EXPECT_THROW(draw_heat_maps({causal_panel(4, "a")}, {}, folder.path() / "a\nb.svg"), UsageError);
  EXPECT_EQ(entries(folder.path()), 3U);
  draw_heat_maps({causal_panel(4, "one\ntwo")}, {}, folder.path() / "c.svg");
  EXPECT_THAT(content(folder.path() / "c.svg"), HasSubstr("one two"));
}

TEST(DrawHeatMaps, DrawsPanelsWithoutOrWithEqualValues) {
  const TemporaryFolder folder;
  Panel empty = causal_panel(4, "nothing");
  Panel constant = empty;
  for (float& value : empty.values.values()) value = std::numeric_limits<float>::quiet_NaN();
  for (float& value : constant.values.values()) value = 3;
  draw_heat_maps({empty, constant}, {}, folder.path() / "a.svg");
  EXPECT_TRUE(fs::exists(folder.path() / "a.svg"));
}

TEST(DrawHeatMaps, PoolsWhatIsLargerThanAPanel) {
  const TemporaryFolder folder;
  draw_heat_maps({causal_panel(1030, "large")}, {}, folder.path() / "a.svg");
  const auto side = static_cast<std::size_t>((1030 + 4) / 5);
  EXPECT_EQ(fs::file_size(folder.path() / "a.svg.data" / "panel-01.f32"), side * side * 4);
  EXPECT_THAT(content(folder.path() / "a.svg.gnuplot"), HasSubstr("dx=5 dy=5 origin=(2.0,2.0)"));
}

// What follows `tag` at each of its places, up to the next of `ends`.
std::vector<std::string> all_after(const std::string& text, const std::string& tag,
                                   const std::string& ends) {
  std::vector<std::string> found;
  for (std::size_t at = text.find(tag); at != std::string::npos; at = text.find(tag, at)) {
    at += tag.size();
    found.push_back(text.substr(at, text.find_first_of(ends, at) - at));
  }
  return found;
}

double number_after(const std::string& text, const std::string& tag) {
  const auto found = all_after(text, tag, " ;,\"'\n");
  return found.empty() ? std::nan("") : std::stod(found.front());
}

std::string drawn(const FigureOptions& options, const std::string& suffix = "",
                  const std::vector<Panel>& panels = {causal_panel(8, "one"),
                                                      causal_panel(8, "two")}) {
  const TemporaryFolder folder;
  draw_heat_maps(panels, options, folder.path() / "a.svg");
  return content(folder.path() / ("a.svg" + suffix));
}

TEST(DrawHeatMaps, TheFigureIsAsWideAsAskedAndItsPanelsAreSquare) {
  FigureOptions options;
  options.width = 180 * 72 / 25.4;
  EXPECT_NEAR(number_after(drawn(options), "width=\""), 180 * 96 / 25.4, 0.5);
  options.width.reset();
  options.panel = 100;
  const std::string svg = drawn(options), script = drawn(options, ".gnuplot");
  const auto side = [&](const char* size, const char* first, const char* last) {
    return number_after(svg, size) * (number_after(script, last) - number_after(script, first)) *
           72 / 96;
  };
  EXPECT_NEAR(side("width=\"", "lmargin at screen ", "rmargin at screen "), 100, 0.3);
  EXPECT_NEAR(side("height=\"", "bmargin at screen ", "tmargin at screen "), 100, 0.3);
}

TEST(DrawHeatMaps, ALongTitleIsBrokenIntoLines) {
  FigureOptions options;
  options.title = "one two three four five six seven eight nine ten eleven αβγδεζηθικλμν twelve";
  const std::vector<Panel> one = {causal_panel(8, "one")};
  const std::string script = drawn(options, ".gnuplot", one), svg = drawn(options, "", one);
  // Letters of 1.2 times 8 points are 0.6 of that wide, at most.
  const double longest = number_after(svg, "width=\"") * 72 / 96 / (0.6 * 1.2 * 8);
  std::string joined;
  double above = 1;
  for (const std::string& label : all_after(script, "\nset label ", "\n")) {
    const std::string line = all_after(label, " '", "'").front();
    EXPECT_LE(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }),
              longest);
    joined += (joined.empty() ? "" : " ") + line;
    const double place = number_after(label, "screen 0.5,");
    EXPECT_LT(place, above);
    above = place;
    EXPECT_THAT(svg, HasSubstr(line));
  }
  EXPECT_EQ(joined, options.title);
  EXPECT_GT(above, number_after(script, "tmargin at screen ")) << "all above the panel";
}

TEST(DrawHeatMaps, FontsReachTheFigure) {
  FigureOptions options;
  options.font = "DejaVu Serif";
  options.font_size = 6;  // 8 pixels
  const std::string svg = drawn(options);
  EXPECT_THAT(svg, HasSubstr("font-family=\"DejaVu Serif,sans-serif\""));
  EXPECT_THAT(svg, HasSubstr("font-size=\"8.00\""));
}

TEST(DrawHeatMaps, ASharedScaleHasOneColourBar) {
  std::vector<Panel> panels = {causal_panel(8, "one"), causal_panel(8, "two")};
  for (float& value : panels[1].values.values()) value *= 3;
  FigureOptions options;
  EXPECT_EQ(all_after(drawn(options, ".gnuplot", panels), "\nset colorbox", "\n").size(), 2U);
  options.shared_scale = true;
  const std::string script = drawn(options, ".gnuplot", panels);
  EXPECT_EQ(all_after(script, "\nset colorbox", "\n").size(), 1U);
  const auto ranges = all_after(script, "set cbrange ", "\n");
  ASSERT_EQ(ranges.size(), 2U);
  EXPECT_EQ(ranges[0], ranges[1]);
}

TEST(DrawHeatMaps, ThePaletteReachesTheFigure) {
  FigureOptions options;
  options.palette = Palette::viridis;
  EXPECT_THAT(drawn(options, ".gnuplot"), HasSubstr("defined (0 '#440154', 1 '#482475'"));
  EXPECT_THAT(drawn(options), HasSubstr("68,   1,  84"));
}

// Values grow with the key alone: lines of equal value are vertical, at that key.
TEST(DrawHeatMaps, ContoursStandWhereTheValueIs) {
  Panel panel = causal_panel(11, "one");
  for (std::size_t i = 0; i < 11; ++i) {
    for (std::size_t j = 0; j < 11; ++j) panel.values(i, j) = static_cast<float>(j);
  }
  panel.range = {0, 10};
  FigureOptions options;
  options.contours = 2;  // at 5, the only round value that is not an end
  const std::string svg = drawn(options, "", {panel}), script = drawn(options, ".gnuplot", {panel});
  EXPECT_THAT(script, HasSubstr("set cntrparam levels discrete 5\n"));
  const double width = number_after(svg, "width=\"");
  const double left = number_after(script, "lmargin at screen ") * width;
  const double right = number_after(script, "rmargin at screen ") * width;
  int vertical = 0;
  for (const std::string& path : all_after(svg, "d='M", "'")) {
    const auto steps = all_after(path, " L", ",");
    if (steps.size() < 9) continue;  // axes and ticks
    ++vertical;
    EXPECT_NEAR(std::stod(path), (left + right) / 2, 0.5);
    for (const std::string& x : steps) EXPECT_NEAR(std::stod(x), (left + right) / 2, 0.5);
  }
  EXPECT_EQ(vertical, 1);
}

TEST(DrawHeatMaps, ContoursThatCannotBeAreLeftOut) {
  Panel empty = causal_panel(4, "nothing");
  for (float& value : empty.values.values()) value = std::numeric_limits<float>::quiet_NaN();
  FigureOptions options;
  options.contours = 5;
  const std::string script = drawn(options, ".gnuplot", {empty, causal_panel(1, "one value")});
  EXPECT_THAT(script, testing::Not(HasSubstr("contour")));
  drawn(options, "", {causal_panel(2, "three values")});
}

TEST(DrawHeatMaps, TheResolutionIsThatOfThePng) {
  const TemporaryFolder folder;
  FigureOptions options;
  options.width = 108;
  options.font_size = 4;
  options.dpi = 300;
  draw_heat_maps({causal_panel(8, "one")}, options, folder.path() / "a.png");
  const std::string png = content(folder.path() / "a.png");
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(png[at]); };
  EXPECT_EQ(byte(18) * 256 + byte(19), 450) << "width in IHDR";
}

TEST(FigureOptions, OutOfRangeIsNamed) {
  const auto message = [](const auto& change) -> std::string {
    FigureOptions options;
    change(options);
    try {
      drawn(options);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message([](FigureOptions& o) { o.columns = 65; }), "--columns 65: expected 1 to 64");
  EXPECT_EQ(message([](FigureOptions& o) { o.panel = 2; }), "--panel 2pt: expected 20pt to 2000pt");
  EXPECT_EQ(message([](FigureOptions& o) { o.width = std::nan(""); }),
            "--width nanpt: expected 40pt to 8000pt");
  EXPECT_EQ(message([](FigureOptions& o) { o.font_size = 100; }),
            "--font-size 100pt: expected 3pt to 48pt");
  EXPECT_EQ(message([](FigureOptions& o) { o.dpi = 10; }), "--dpi 10: expected 36 to 1200");
  EXPECT_EQ(message([](FigureOptions& o) { o.contours = -1; }), "--contours -1: expected 0 to 32");
  EXPECT_THAT(message([](FigureOptions& o) { o.font = "a' b"; }),
              StartsWith("--font a' b: expected"));
  EXPECT_THAT(message([](FigureOptions& o) {
                o.quantiles = {0.5, 1.5};
              }),
              StartsWith("--quantiles 0.5:1.5: expected"));
  // 2 panels of 20 and 6.4 + 1 + 1.4 + 6.5 font sizes: the axis, the edge, a gap and the bar.
  EXPECT_EQ(message([](FigureOptions& o) { o.width = 100; }),
            "--width 100pt: expected at least 163pt for 2 columns and a font of 8pt");
}

TEST(DrawHeatMaps, MissingGnuplotNamesThePackageAndLeavesNothing) {
  const TemporaryFolder folder;
  const Variable path("PATH", "/nonexistent");
  try {
    draw_heat_maps({causal_panel(4, "one")}, {}, folder.path() / "a.svg");
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("gnuplot-nox"));
  }
  EXPECT_EQ(entries(folder.path()), 0U);
}

TEST(RunGnuplot, AFailureSaysWhatGnuplotSaid) {
  const TemporaryFolder folder;
  const fs::path script = folder.path() / "bad.gnuplot";
  std::ofstream(script) << "set nonsense 3\n";
  try {
    run_gnuplot(script);
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("nonsense"));
  }
}

}  // namespace
}  // namespace poslens
