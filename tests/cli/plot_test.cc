// plot, report and reproduce.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/program.h"
#include "poslens/score_map.h"
#include "support/tiny_model.h"

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
  std::filesystem::remove(path("a.svg"));  // its script may have been edited
  expect_error(plot(out("a.svg")), 1,
               path("a.svg.gnuplot").string() + ": exists already; --force replaces it");
}

TEST_F(Plot, DrawsEveryFormatAsAsked) {
  const std::string style =
      " --width 120mm --font Courier --font-size 7 --palette cividis --quantiles 0.1:0.9 --scale "
      "shared --contours 3 --title it's --columns 2";
  for (const char* name : {"a.svg", "a.pdf", "a.png"}) {
    const Outcome outcome = plot(out(name) + style);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_GT(read(name).size(), 500U);
    const std::string script = read(std::string(name) + ".gnuplot");
    EXPECT_THAT(script, HasSubstr("Courier"));
    EXPECT_THAT(script, HasSubstr("0 '#00224e'"));
    EXPECT_THAT(script, HasSubstr("set cntrparam levels discrete"));
    EXPECT_THAT(script, HasSubstr("set label 1 'it''s' at"));
  }
  EXPECT_THAT(read("a.svg"), HasSubstr("width=\"454\""));  // 120 mm at 96 to the inch
  EXPECT_THAT(read("a.pdf.gnuplot"), HasSubstr("size 4.7244in,"));
  EXPECT_EQ(run_program({"plot", map_, "--out", path("b.svg").string(), "--title", ""}).code, 0);
  EXPECT_THAT(read("b.svg.gnuplot"), testing::Not(HasSubstr("set label")));
}

TEST_F(Plot, DrawsOtherArraysAndDifferences) {
  const std::string other = path("other.npz").string(), simulated = path("simulated.npz").string();
  ASSERT_EQ(run_program(words("theory --n 12 --layers 3 --alpha 0.3 --out " + other)).code, 0);
  ASSERT_EQ(run_program(words("simulate --n 12 --layers 3 --dim 16 --samples 20 --variance "
                              "--hidden-geometry --quiet --out " +
                              simulated))
                .code,
            0);
  EXPECT_EQ(plot(out("d.svg") + " --layers 2 --minus " + other).code, 0);
  const std::string data = read("d.svg.data/panel-01.f32");
  ASSERT_EQ(data.size(), 12U * 12 * 4);
  float drawn = 0;
  std::memcpy(&drawn, data.data() + (7 * 12 + 3) * 4, 4);
  EXPECT_EQ(drawn, load_score_map(map_).layer(2)(7, 3) - load_score_map(other).layer(2)(7, 3));
  EXPECT_THAT(read("d.svg.gnuplot"), HasSubstr("0 '#1f4e8c'")) << "a diverging palette";

  const auto draw = [&](const std::string& more) {
    return run_program(words("plot " + simulated + more + out("e.svg") + " --force"));
  };
  EXPECT_EQ(draw(" --array variance").code, 0);
  EXPECT_EQ(read("e.svg.data/panel-02.f32").size(), 12U * 12 * 4);
  EXPECT_EQ(draw(" --array hidden_cosine").code, 0);
  const std::string script = read("e.svg.gnuplot");
  EXPECT_THAT(script, HasSubstr("set title 'into layer 1'"));
  EXPECT_THAT(script, HasSubstr("set title 'after layer 3'"));
  expect_error(draw(" --array probs"), 2,
               "--array probs: expected one that the map has, scores, variance, hidden_cosine");
  expect_error_with(draw(" --heads 1"), 2, "--heads: expected an artefact with scores_heads");
  const std::string small = path("small.npz").string();
  ASSERT_EQ(run_program(words("theory --n 11 --layers 3 --out " + small)).code, 0);
  expect_error(draw(" --minus " + small), 1, "--minus: numbers of positions differ, 12 and 11");
}

TEST_F(Plot, WrongOptionsAreNamed) {
  expect_error(plot(out("a.jpg")), 2,
               path("a.jpg").string() + ": a figure's name must end in .svg, .pdf or .png");
  const std::pair<const char*, const char*> cases[] = {
      {"--range 2:1", "--range 2:1: expected A:B with numbers A < B"},
      {"--range 2", "--range 2: expected A:B with numbers A < B"},
      {"--quantiles 5:95", "--quantiles 5:95: expected A:B with 0 <= A < B <= 1"},
      {"--quantiles 0.1:0.9 --range 0:1", "--quantiles: not expected with --range"},
      {"--scale shared --range 0:1", "--scale: not expected with --range"},
      {"--scale both", "--scale both: expected panel or shared"},
      {"--view sideways", "--view sideways: expected raw or diagonal-normalised"},
      {"--palette jet",
       "--palette jet: expected one of rocket, viridis, cividis, grey, diverging, "
       "purple-orange"},
      {"--array colours", "--array colours: expected one that the map has, scores"},
      {"--columns 0", "--columns 0: expected 1 to 64"},
      {"--width 180", "--width 180: expected a length in pt, mm, cm or in, such as 180mm"},
      {"--width 1in", "--width 72pt: expected at least 2"},
      {"--width 5in --panel 1in", "--panel: not expected with --width"},
      {"--panel 1mm", "--panel 2.83465pt: expected 20pt to 2000pt"},
      {"--font-size 0", "--font-size 0pt: expected 3pt to 48pt"},
      {"--font a,b", "--font a,b: expected one font's name"},
      {"--dpi 300", "--dpi 300: expected with a .png, found a.svg"},
      {"--contours many", "--contours many: expected an integer"},
      {"--layers 3", "--layers 3: expected layers of the map, 0, 1, 2"},
  };
  for (const auto& [options, message] : cases) {
    expect_error_with(plot(out("a.svg") + " " + options), 2, message);
  }
  EXPECT_THAT(files(), ElementsAre("map.npz"));
}

class Report : public ProgramTest {
 protected:
  Report() {
    for (const char* name : {"a", "b"}) {
      EXPECT_EQ(run_program(words(fmt::format("theory --n 12 --layers 2 --alpha {} --out {}",
                                              *name == 'a' ? 0 : 0.3, map(name))))
                    .code,
                0);
    }
  }
  std::string map(const std::string& name) const { return path(name + ".npz").string(); }
  Outcome report(const std::string& options, const std::string& out = "page.html") const {
    return run_program(words("report " + options + " --out " + path(out).string()));
  }
};

TEST_F(Report, PutsMapsIntoOnePage) {
  const Outcome outcome = report(map("a") + " " + map("b"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "Report: " + path("page.html").string() + "\n");
  EXPECT_THAT(files(),
              ElementsAre("a.npz", "b.npz", "page.curves.csv", "page.html", "page.measures.csv"));
  std::stringstream page;
  page << std::ifstream(path("page.html")).rdbuf();
  EXPECT_THAT(page.str(), HasSubstr("<h1>Attention scores of theory</h1>"));
  EXPECT_THAT(page.str(), HasSubstr("<h3>a</h3>"));
  EXPECT_THAT(page.str(), HasSubstr("<h3>b</h3>"));
  EXPECT_EQ(report(map("a") + " --label x --title y --force").code, 0);
  std::stringstream again;
  again << std::ifstream(path("page.html")).rdbuf();
  EXPECT_THAT(again.str(), HasSubstr("<h1>y</h1>"));
  EXPECT_THAT(again.str(), HasSubstr("<h3>x</h3>"));
}

TEST_F(Report, WhatCannotBeIsNamed) {
  EXPECT_EQ(run_program(words("theory --n 13 --layers 2 --out " + map("c"))).code, 0);
  const std::string both = map("a") + " " + map("b");
  expect_error_with(report(both, "page.pdf"), 2, "expected a file that ends in .html");
  expect_error(report(both + " --label x"), 2, "--label: expected one for each of 2 maps, found 1");
  expect_error(report(both + " --label x --label x"), 2, "--label x: expected labels that differ");
  expect_error_with(report(map("a") + " " + map("c")), 1,
                    map("c") + ": expected positions 12, as in " + map("a") + ", found 13");
  expect_error_with(report(map("none")), 1, map("none"));
  EXPECT_THAT(files(), ElementsAre("a.npz", "b.npz", "c.npz"));
  write("page.curves.csv", "precious");
  expect_error(report(both), 1,
               path("page.curves.csv").string() + ": exists already; --force replaces it");
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
      "fig1 fig2 fig4 fig6 fig7 fig9 fig10 rp-fig1 rp-fig2 rp-fig3 rp-alpha rp-table theory fig5 "
      "fig11 fig12 fig13 fig14 fig15 fig16";
  expect_error(run_program({"reproduce", "fig1"}), 2, "reproduce: expected --out FOLDER");
  expect_error_with(run_program(words("reproduce fig1 --length 8 --out x")), 2,
                    "--length: expected with one or more of fig5");
  expect_error_with(run_program(words("reproduce fig5 --samples 8 --out x")), 2,
                    "--samples: expected with a target that is simulated");
  expect_error(run_program({"reproduce", "--out", path("out").string()}), 2,
               "reproduce: expected one or more of " + targets);
  expect_error(run_program({"reproduce", "fig99", "--out", path("out").string()}), 2,
               "reproduce fig99: unknown; expected one or more of " + targets);
}

class ReproduceModel : public ProgramTest {
 protected:
  ReproduceModel() {
    tiny_model().write(path("tiny.gguf").string());
    write("book.txt",
          "It was the best of times, it was the worst of times, it was the age of wisdom, it was "
          "the age of foolishness, it was the epoch of belief.");
  }
  // poslens VERB OPTIONS --text book.txt --length 10 --sequences 12 --out OUT
  Outcome run(const std::string& verb, const std::string& options, const std::string& out) const {
    return run_program(words(verb + " " + options + " --text " + path("book.txt").string() +
                             " --length 10 --sequences 12 --out " + path(out).string()));
  }
  std::vector<float> drawn(const std::string& panel) const {
    std::vector<float> values(100);
    std::ifstream file(path(panel), std::ios::binary);
    file.read(reinterpret_cast<char*>(values.data()), 400);
    EXPECT_EQ(file.gcount(), 400) << panel;
    return values;
  }
  std::string model() const { return path("tiny.gguf").string(); }
};

TEST_F(ReproduceModel, DrawsAndMeasuresTheRunOfTheModel) {
  const Outcome outcome =
      run("reproduce", "fig5 fig11 fig12 --model " + model() + " --model " + model(), "out");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("fig11 fig12: tiny, 12 sequences of 10 tokens in 8 groups"));
  EXPECT_THAT(outcome.out,
              testing::ContainsRegex("near keys score higher.*shown in [0-3] of 3 layers\n"));
  ASSERT_EQ(run("probe", model() + " --groups 8", "map.npz").code, 0);
  const ScoreMap map = load_score_map(path("map.npz"));
  EXPECT_EQ(testing::PrintToString(load_score_map(path("out/fig11-12-tiny.npz")).scores),
            testing::PrintToString(map.scores));
  EXPECT_TRUE(std::filesystem::exists(path("out/fig5-tiny-2.npz"))) << "a row each";

  // fig11 shows scores, fig12 every diagonal less its mean.
  const std::vector<float> raw = drawn("out/fig11.svg.data/panel-03.f32");
  const std::vector<float> normalised = drawn("out/fig12.svg.data/panel-03.f32");
  for (std::size_t lag = 0; lag < 10; ++lag) {
    double mean = 0;
    for (std::size_t i = lag; i < 10; ++i) mean += map.layer(2)(i, i - lag);
    mean /= static_cast<double>(10 - lag);
    for (std::size_t i = lag; i < 10; ++i) {
      EXPECT_EQ(raw[i * 10 + i - lag], map.layer(2)(i, i - lag));
      EXPECT_NEAR(normalised[i * 10 + i - lag], raw[i * 10 + i - lag] - mean, 1e-5);
    }
  }

  // The numbers beside the figure are those of `metrics` for the same run.
  const Outcome metrics = run_program({"metrics", path("map.npz").string(), "--json"});
  ASSERT_EQ(metrics.code, 0);
  const auto layers = nlohmann::json::parse(metrics.out);
  const std::string text = layers.dump();
  std::ifstream csv(path("out/fig11-12-tiny.csv"));
  int lines = 0;
  for (std::string line; std::getline(csv, line);) {
    if (!line.starts_with("1,nonrelative_share,")) continue;
    const std::string value = line.substr(20, line.find(',', 20) - 20);
    const auto found = text.find("\"nonrelative_share\":{", text.find("\"layer\":1"));
    ASSERT_NE(found, std::string::npos) << text.substr(0, 400);
    EXPECT_NEAR(std::stod(value), std::stod(text.substr(text.find("\"value\":", found) + 8)), 1e-6);
    ++lines;
  }
  EXPECT_EQ(lines, 1);
}

TEST_F(ReproduceModel, TheReferencesSlipIsDrawnOnRequest) {
  const Outcome outcome =
      run("reproduce", "fig15 --layers 1 --reference-compat --model " + model(), "out");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const ScoreMap map = load_score_map(path("out/fig15-16-tiny.npz"));
  EXPECT_THAT(map.layers, ElementsAre(1));
  EXPECT_NEAR(drawn("out/fig15.png.data/panel-01.f32")[74], map.layer(0)(7, 4) * 12 / 50, 1e-6);
}

}  // namespace
}  // namespace poslens
