// Analyses of a tiny random model on random tokens.
#include "poslens/analysis.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "poslens/atomic_file.h"
#include "poslens/error.h"
#include "poslens/random.h"
#include "support/temporary_folder.h"
#include "support/tiny_model.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::vector<std::string> kCells = {"rope_causal", "rope_full",        "norope_causal",
                                         "norope_full", "control_shuffled", "control_null"};

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Tokens drawn alike for every position: the expected first layer is relative. Few different ones,
// so that their embeddings have a common part and scores a mean.
Corpus random_corpus(std::int64_t sequences, std::int64_t length) {
  Corpus corpus;
  corpus.batch.length = length;
  RandomStream random(5, 0);
  for (std::int64_t k = 0; k < sequences * length; ++k) {
    corpus.batch.ids.push_back(static_cast<std::int32_t>(random.below(3)));
  }
  corpus.source = "random tokens";
  return corpus;
}

class AnalysisTest : public testing::Test {
 protected:
  AnalysisTest() {
    tiny_model().write(path("tiny.gguf").string());
    model_ = load_model(path("tiny.gguf"));
    options_.folder = path("results");
    options_.decoder.groups = 8;
  }
  fs::path path(const std::string& name) const { return folder_.path() / name; }
  fs::path result(const std::string& name) const { return options_.folder / name; }

  TemporaryFolder folder_;
  LoadedModel model_;
  AnalysisOptions options_;
};

TEST_F(AnalysisTest, WritesEverythingItPromises) {
  options_.decoder.decode = true;
  const Analysis analysis = analyze(model_, random_corpus(16, 12), options_);
  std::set<std::string> expected = {"measures.csv", "effects.csv",   "loss.csv",    "curves.csv",
                                    "decoding.csv", "measures.json", "report.html", "figures"};
  for (const std::string& cell : kCells) expected.insert(cell + ".npz");
  std::set<std::string> found;
  for (const auto& entry : fs::directory_iterator(options_.folder)) {
    found.insert(entry.path().filename().string());
  }
  EXPECT_EQ(found, expected);
  ASSERT_EQ(analysis.cells.size(), kCells.size());
  for (std::size_t k = 0; k < kCells.size(); ++k) {
    const CellResult& cell = analysis.cells[k];
    EXPECT_EQ(cell.cell.name, kCells[k]);
    EXPECT_TRUE(fs::exists(result("figures/" + kCells[k] + ".svg")));
    const ScoreMap map = load_score_map(result(kCells[k] + ".npz"));
    EXPECT_TRUE(map.scores_groups.empty());
    EXPECT_EQ(map.layers, (std::vector<int>{0, 1, 2}));
    EXPECT_EQ(std::isnan(map.layer(0)(2, 5)), kCells[k] != "rope_full" &&
                                                  kCells[k] != "norope_full" &&
                                                  kCells[k] != "control_null");
    EXPECT_EQ(map.loss.size(), 11);
  }
  EXPECT_THAT(content(result("report.html")), HasSubstr("tiny"));
  const std::string csv = content(result("measures.csv"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 6 * 3);
  const std::string effects = content(result("effects.csv"));
  EXPECT_EQ(std::count(effects.begin(), effects.end(), '\n'), 1 + 3 * 3);
  const std::string decoding = content(result("decoding.csv"));
  EXPECT_EQ(std::count(decoding.begin(), decoding.end(), '\n'), 1 + 6 * 4);
  const ScoreMap last = load_score_map(result("control_null.npz"));
  EXPECT_THAT(decoding,
              HasSubstr(fmt::format("\ncontrol_null,2,leaves,{:.9g},", last.decoding_r2[3])));
  const auto json = nlohmann::json::parse(content(result("measures.json")));
  EXPECT_EQ(json["cells"][5]["position"]["layers"][3]["error"]["value"], last.decoding_error[3]);
  EXPECT_THAT(content(result("report.html")), HasSubstr("Position from one token"));
  EXPECT_THAT(analysis.answer,
              HasSubstr("of 11 positions in the mean, a guess of the middle by 2.7"));
  EXPECT_EQ(json["findings"]["decoding_r2_rope_causal"]["value"],
            std::ranges::max(analysis.cells[0].map.decoding_r2));
  EXPECT_THAT(content(result("loss.csv")),
              HasSubstr(fmt::format("\n10,{:.9g},", analysis.cells[0].map.loss[10])));
}

// The effects of the kept groups of all cells; scores of the first layer know nothing of a mask.
TEST_F(AnalysisTest, EffectsAreThoseOfTheCells) {
  options_.keep_groups = true;
  const Analysis analysis = analyze(model_, random_corpus(16, 12), options_);
  std::vector<ScoreMap> maps;
  for (std::size_t k = 0; k < 4; ++k) maps.push_back(load_score_map(result(kCells[k] + ".npz")));
  const auto json = nlohmann::json::parse(content(result("measures.json")));
  ASSERT_EQ(analysis.effects.size(), 3);
  for (std::size_t place = 0; place < 3; ++place) {
    std::array<std::vector<MatrixView<const float>>, 4> cells;
    for (std::size_t k = 0; k < 4; ++k) {
      for (std::size_t group = 0; group < 8; ++group) {
        cells[k].push_back(maps[k].group_layer(group, place));
      }
    }
    const FactorialEffects expected = factorial_effects({cells[0], cells[1], cells[2], cells[3]});
    EXPECT_EQ(analysis.effects[place].interaction.share.value, expected.interaction.share.value);
    for (const auto& [name, estimate] : named_estimates(expected.mask)) {
      const auto& found = json.at("effects").at(place).at("mask").at(name).at("value");
      if (std::isnan(estimate->value)) {
        EXPECT_TRUE(found.is_null()) << name;
      } else {
        EXPECT_EQ(found, estimate->value) << name;
      }
    }
  }
  EXPECT_EQ(analysis.effects[0].mask.all_keys.total.value, 0);
  EXPECT_EQ(analysis.effects[0].encoding.share.value, 1);
}

TEST_F(AnalysisTest, NumbersAreTheMeasuresOfTheMaps) {
  options_.keep_groups = true;
  options_.decoder.layers = {0, 2};
  const Analysis analysis = analyze(model_, random_corpus(16, 12), options_);
  const auto json = nlohmann::json::parse(content(result("measures.json")));
  EXPECT_EQ(json.at("schema"), "poslens-measures/1");
  const std::string curves = content(result("curves.csv"));
  EXPECT_EQ(json.at("answer"), analysis.answer);
  EXPECT_EQ(json.at("sequences"), 16);
  for (const auto& [name, estimate] : analysis.findings) {
    EXPECT_EQ(json.at("findings").at(name).at("value"), estimate.value) << name;
  }
  for (std::size_t k = 0; k < kCells.size(); ++k) {
    const ScoreMap map = load_score_map(result(kCells[k] + ".npz"));
    ASSERT_EQ(map.groups, 8);
    const std::vector<LayerMeasures> measures = measure(map);
    const Estimate nearest = curves_of(map)[1].by_distance.mean[0];
    const Interval interval = confidence_interval(nearest);
    EXPECT_THAT(curves, HasSubstr(fmt::format("\n{},2,distance,0,0,{:.9g},{:.9g},{:.9g},{:.9g}\n",
                                              kCells[k], nearest.value, nearest.standard_error,
                                              interval.low, interval.high)));
    const auto& layers = json.at("cells").at(k).at("layers");
    ASSERT_EQ(layers.size(), 2);
    for (std::size_t place = 0; place < 2; ++place) {
      EXPECT_EQ(layers[place].at("layer"), measures[place].layer);
      for (const auto& [name, estimate] : named_estimates(measures[place])) {
        if (!std::isfinite(estimate->value)) continue;
        EXPECT_EQ(layers[place].at(name).at("value"), estimate->value) << name;
        if (std::isfinite(estimate->standard_error)) {
          EXPECT_EQ(layers[place].at(name).at("standard_error"), estimate->standard_error);
        }
      }
      EXPECT_EQ(layers[place].contains("off_diagonal_variation"),
                kCells[k].ends_with("_full") || kCells[k] == "control_null");
    }
  }
}

// What theory says of any model, on tokens that do not know their place.
TEST_F(AnalysisTest, RandomTokensBehaveAsTheyMust) {
  const Analysis analysis = analyze(model_, random_corpus(6000, 10), options_);
  const auto z = [](const Estimate& estimate) { return estimate.value / estimate.standard_error; };
  // Layer 0 knows positions from RoPE alone.
  const LayerMeasures& first = analysis.cell("rope_causal").layers[0];
  EXPECT_GT(z(first.all_keys.total), 3);
  EXPECT_LT(std::abs(z(first.all_keys.nonrelative)), 3);
  EXPECT_LT(std::abs(z(analysis.cell("norope_causal").layers[0].all_keys.total)), 3);
  // The mask alone makes a position signal from layer 1 on.
  EXPECT_GT(z(analysis.cell("norope_causal").layers[2].all_keys.total), 3);
  for (const char* name : {"norope_full", "control_null"}) {
    const CellResult& cell = analysis.cell(name);
    ASSERT_EQ(cell.variation.size(), 3);
    for (const Estimate& variation : cell.variation) EXPECT_LT(std::abs(z(variation)), 3) << name;
  }
  EXPECT_THAT(analysis.answer, HasSubstr("relative up to noise"));
  EXPECT_THAT(analysis.answer, HasSubstr("It is, up to noise"));
}

TEST_F(AnalysisTest, AFailedRunLeavesNoReport) {
  const Corpus good = random_corpus(8, 6);
  analyze(model_, good, options_);
  EXPECT_THROW(analyze(model_, good, options_), Error);  // the folder is not empty
  EXPECT_TRUE(fs::exists(result("report.html")));
  write_text_atomically(result("notes.txt"), "mine");

  options_.force = true;
  Corpus bad = good;
  bad.batch.ids[7] = static_cast<std::int32_t>(kTinyVocabulary);
  EXPECT_THROW(analyze(model_, bad, options_), Error);
  EXPECT_FALSE(fs::exists(result("report.html")));
  EXPECT_FALSE(fs::exists(result("measures.json")));
  EXPECT_TRUE(fs::exists(result("notes.txt")));
  analyze(model_, good, options_);
  EXPECT_TRUE(fs::exists(result("report.html")));
}

TEST_F(AnalysisTest, WrongOptionsAreRefusedBeforeAnything) {
  const auto message = [&](const Corpus& corpus) {
    try {
      analyze(model_, corpus, options_);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("no usage error");
  };
  options_.decoder.groups = 2;
  EXPECT_THAT(message(random_corpus(8, 6)), HasSubstr("--groups 2: expected 3 to 8"));
  options_.decoder.groups = 9;
  EXPECT_THAT(message(random_corpus(8, 6)), HasSubstr("--groups 9"));
  options_.decoder.groups = 4;
  EXPECT_THAT(message(random_corpus(8, 4)), HasSubstr("--length 4"));
  options_.decoder.layers = {3};
  EXPECT_THAT(message(random_corpus(8, 6)), HasSubstr("--layers"));
  EXPECT_FALSE(fs::exists(options_.folder));
}

TEST_F(AnalysisTest, ThereMustBeSomethingToTakeAway) {
  ModelSpec no_rope = model_.spec;
  for (LayerSpec& layer : no_rope.layers) layer.attention.rotary.reset();
  EXPECT_THROW(factorial_cells(no_rope), Error);
  EXPECT_EQ(factorial_cells(model_.spec)[2].interventions[0].text, "rope=none");
  ModelSpec no_mask = model_.spec;
  for (LayerSpec& layer : no_mask.layers) layer.attention.mask.kind = Mask::Kind::full;
  EXPECT_THROW(factorial_cells(no_mask), Error);
  ModelSpec windows = model_.spec;
  windows.layers[1].attention.mask = Mask::parse("window:4");
  EXPECT_THAT(factorial_cells(windows)[0].title, HasSubstr("causal and window:4 mask"));
}

// Models with another encoding than RoPE, or with it in some layers alone, are taken apart by
// position=none and named by what they have.
struct Encoded {
  const char* fixture;
  const char* tag;
  const char* baseline;  // title
  const char* change;    // of the cell without encoding
  const char* sentence;
};

class OtherEncodings : public testing::TestWithParam<Encoded> {};

TEST_P(OtherEncodings, AreTakenAwayAndNamed) {
  const Encoded& expected = GetParam();
  const TemporaryFolder folder;
  const LoadedModel model =
      load_model(fs::path(POSLENS_SOURCE) / "tests/model/golden" / expected.fixture);
  AnalysisOptions options;
  options.folder = folder.path() / "results";
  options.decoder.groups = 6;
  const Analysis analysis = analyze(model, random_corpus(120, 8), options);
  const std::string tag = expected.tag;
  ASSERT_EQ(analysis.cells.size(), 6u);
  EXPECT_EQ(analysis.cells[0].cell.name, tag + "_causal");
  EXPECT_EQ(analysis.cells[1].cell.name, tag + "_full");
  EXPECT_EQ(analysis.cells[2].cell.name, "no" + tag + "_causal");
  EXPECT_EQ(analysis.cells[3].cell.name, "no" + tag + "_full");
  EXPECT_EQ(analysis.cells[0].cell.title, expected.baseline);
  for (const std::size_t without : {2, 3, 5}) {
    const Provenance& provenance = analysis.cells[without].map.provenance;
    EXPECT_EQ(provenance.interventions[0], "position=none");
    EXPECT_EQ(provenance.changes[0], expected.change);
  }
  // Nothing is left to tell positions by.
  for (const Estimate& variation : analysis.cell("control_null").variation) {
    EXPECT_LT(variation.value, 4 * variation.standard_error);
  }
  EXPECT_THAT(analysis.answer, HasSubstr(expected.sentence));
  EXPECT_THAT(content(options.folder / "report.html"), HasSubstr(expected.change));
  const auto json = nlohmann::json::parse(content(options.folder / "measures.json"));
  EXPECT_TRUE(json.at("findings").contains("nonrelative_share_" + tag + "_causal"));
  EXPECT_TRUE(json.at("findings").contains("total_left_no" + tag + "_causal"));
  EXPECT_EQ(analysis.answer.find("RoPE") != std::string::npos, tag == "rope");
}

INSTANTIATE_TEST_SUITE_P(
    Fixtures, OtherEncodings,
    testing::Values(Encoded{"gpt2_plain", "learned",
                            "learned positions, causal mask (the model as it is)",
                            "learned positions off",
                            "Without learned positions the position signal is"},
                    Encoded{"bloom_plain", "alibi", "ALiBi, causal mask (the model as it is)",
                            "ALiBi off in all layers", "Without ALiBi the position signal is"},
                    Encoded{"mpt_plain", "alibi", "ALiBi, causal mask (the model as it is)",
                            "ALiBi off in all layers", "keys behind the query are favoured then"},
                    Encoded{"falcon_alibi", "alibi", "ALiBi, causal mask (the model as it is)",
                            "ALiBi off in all layers", "without ALiBi and mask"},
                    Encoded{"smollm3_plain", "rope",
                            "RoPE (in 3 of 4 layers), causal mask (the model as it is)",
                            "RoPE off in layers 0-2 (counted from 0)",
                            "Without RoPE, which works in 3 of 4 layers, the position signal is"}),
    [](const auto& tested) { return std::string(tested.param.fixture); });

}  // namespace
}  // namespace poslens
