#include <gmock/gmock.h>

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
  draw_heat_maps({causal_panel(8, "one")}, {}, folder.path() / "a.png");
  const std::string drawn = content(folder.path() / "a.png");
  fs::remove(folder.path() / "a.png");
  run_gnuplot(folder.path() / "a.png.gnuplot");
  EXPECT_EQ(content(folder.path() / "a.png"), drawn);
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
