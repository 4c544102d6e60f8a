// plot and reproduce.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "cli/program.h"

namespace poslens {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Plot : public ProgramTest {
 protected:
  Plot() { EXPECT_EQ(run_program(words("theory --n 12 --layers 3 --out " + map_)).code, 0); }

  Outcome plot(const std::string& more) const { return run_program(words("plot " + map_ + more)); }
  std::string read(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(path(name), std::ios::binary).rdbuf();
    return text.str();
  }
  std::string out(const std::string& name) const { return " --out " + path(name).string(); }

  const std::string map_ = path("map.npz").string();
};

TEST_F(Plot, DrawsTheLayersAskedFor) {
  const Outcome outcome = plot(out("a.svg") + " --layers 0,2 --columns 1 --range -1:2.5");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(files(),
              ElementsAre("a.svg", "a.svg.gnuplot", "map.npz", "panel-01.f32", "panel-02.f32"));
  const std::string script = read("a.svg.gnuplot");
  EXPECT_THAT(script, HasSubstr("set title 'layer 1'"));
  EXPECT_THAT(script, testing::Not(HasSubstr("set title 'layer 2'")));
  EXPECT_THAT(script, HasSubstr("set title 'layer 3'"));
  EXPECT_THAT(script, HasSubstr("set cbrange [-1:2.5]"));
}

TEST_F(Plot, DrawsADiagonalNormalisedMap) {
  EXPECT_EQ(plot(out("raw.png")).code, 0);
  EXPECT_EQ(plot(out("normalised.png") + " --view diagonal-normalised").code, 0);
  EXPECT_NE(read("raw.png.data/panel-02.f32"), read("normalised.png.data/panel-02.f32"));
}

TEST_F(Plot, KeepsWhatIsThereUnlessForced) {
  EXPECT_EQ(plot(out("a.svg")).code, 0);
  expect_error(plot(out("a.svg")), 1,
               path("a.svg").string() + ": exists already; --force replaces it");
  EXPECT_EQ(plot(out("a.svg") + " --force").code, 0);
}

TEST_F(Plot, WrongOptionsAreNamed) {
  expect_error(plot(out("a.jpg")), 2,
               path("a.jpg").string() + ": a figure's name must end in .svg, .pdf or .png");
  expect_error(plot(out("a.svg") + " --range 2:1"), 2,
               "--range 2:1: expected A:B with numbers A < B");
  expect_error(plot(out("a.svg") + " --range 2"), 2, "--range 2: expected A:B with numbers A < B");
  expect_error(plot(out("a.svg") + " --view sideways"), 2,
               "--view sideways: expected raw or diagonal-normalised");
  expect_error_with(plot(out("a.svg") + " --columns 0"), 2, "--columns");
  expect_error(plot(out("a.svg") + " --layers 3"), 1, "layer 3: the map has layers 0, 1, 2");
  EXPECT_THAT(files(), ElementsAre("map.npz"));
}

class Reproduce : public ProgramTest {};

TEST_F(Reproduce, ListsWhatItCanMake) {
  const Outcome outcome = run_program(words("reproduce --list"));
  EXPECT_EQ(outcome.code, 0);
  for (const char* target : {"fig1  ", "fig2  ", "fig4  "}) {
    EXPECT_THAT(outcome.out, HasSubstr(target));
  }
}

TEST_F(Reproduce, PrintsADeviationForEachPanel) {
  const Outcome outcome = run_program({"reproduce", "fig1", "--out", path("out").string()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::ContainsRegex("fig1 layer=2 +closed form +3 +0.00082 .*ok"));
}

TEST_F(Reproduce, TooFewSamplesAreTooFarFromThePaper) {
  const Outcome outcome =
      run_program({"reproduce", "fig2", "--samples", "50", "--out", path("out").string()});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("TOO FAR"));
  EXPECT_THAT(outcome.err,
              HasSubstr("poslens: error: reproduce: fig2 alpha=0;layer=1: simulation"));
}

TEST_F(Reproduce, WrongTargetsAreNamed) {
  const std::string targets =
      "fig1 fig2 fig4 fig6 fig7 fig9 fig10 rp-fig1 rp-fig2 rp-fig3 rp-alpha rp-table theory";
  expect_error(run_program({"reproduce", "fig1"}), 2, "reproduce: expected --out FOLDER");
  expect_error(run_program({"reproduce", "--out", path("out").string()}), 2,
               "reproduce: expected one or more of " + targets);
  expect_error(run_program({"reproduce", "fig99", "--out", path("out").string()}), 2,
               "reproduce fig99: unknown; expected one or more of " + targets);
}

}  // namespace
}  // namespace poslens
