#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "poslens/npz.h"
#include "poslens/score_map.h"
#include "support/tiny_model.h"

namespace poslens {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kText = "It was the best of times, it was the worst of times.";

class Probe : public ProgramTest {
 protected:
  Probe() {
    tiny_model().write(path("tiny.gguf").string());
    write("book.txt", kText);
  }

  // `poslens probe tiny.gguf OPTIONS --out map.npz`; words of `options` that start with @ are files
  // in the test's folder.
  Outcome probe(const std::string& options, const std::string& model = "tiny.gguf") const {
    std::vector<std::string> arguments = {"probe", path(model).string()};
    for (const std::string& word : words(options)) {
      arguments.push_back(word[0] == '@' ? path(word.substr(1)).string() : word);
    }
    if (options.find("--out") == std::string::npos) {
      arguments.insert(arguments.end(), {"--out", path("map.npz").string()});
    }
    return run_program(arguments);
  }
  ScoreMap run(const std::string& options) const {
    const Outcome outcome = probe(options + " --force");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return load_score_map(path("map.npz"));
  }
  void expect_nothing_written() const {
    for (const std::string& name : files()) EXPECT_THAT(name, testing::Not(HasSubstr(".npz")));
  }
};

TEST_F(Probe, WritesAnArtefactAndOneLine) {
  const Outcome outcome = probe("--text @book.txt --length 10 --sequences 4 --groups 2 --probs");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1);
  EXPECT_THAT(outcome.out, HasSubstr(path("map.npz").string() + ": 3 layers over 40 tokens"));
  const ScoreMap map = load_score_map(path("map.npz"));
  EXPECT_EQ(map.source, Source::model);
  EXPECT_EQ(map.stage, Stage::scaled);
  EXPECT_EQ(map.n, 10);
  EXPECT_THAT(map.layers, ElementsAre(0, 1, 2));
  EXPECT_EQ(map.groups, 2);
  EXPECT_EQ(map.probs.size(), map.scores.size());
  EXPECT_EQ(map.loss.size(), 9);
  for (std::size_t i = 0; i < 10; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < 10; ++j) {
      EXPECT_EQ(std::isnan(map.layer(1)(i, j)), j > i);
      EXPECT_EQ(map.count[i * 10 + j], j > i ? 0 : 4);
      if (j <= i) sum += map.probs[(10 + i) * 10 + j];
    }
    EXPECT_NEAR(sum, 1, 1e-5);
  }
  const Provenance& provenance = map.provenance;
  EXPECT_EQ(provenance.averaging, "mean over 4 sequences and 2 heads");
  EXPECT_EQ(provenance.model, "tiny");
  EXPECT_EQ(provenance.model_fingerprint.size(), 16);
  EXPECT_EQ(provenance.bos_policy, "the file adds no BOS; none in front of the sequences");
  EXPECT_EQ(provenance.text, path("book.txt").string());
  EXPECT_EQ(provenance.text_fingerprint.size(), 16);
  EXPECT_EQ(provenance.documents_used, 1);
  EXPECT_EQ(provenance.documents_skipped, 0);
  EXPECT_THAT(provenance.options,
              testing::IsSupersetOf(std::vector<std::pair<std::string, std::string>>{
                  {"length", "10"}, {"cut", "windows"}, {"dtype", "f32"}}));
  EXPECT_THAT(provenance.program, HasSubstr("poslens "));
  EXPECT_THAT(provenance.command_line, HasSubstr("--groups 2"));
  EXPECT_GT(provenance.seconds, 0);
  EXPECT_GT(provenance.peak_memory_bytes, 1 << 20);
}

TEST_F(Probe, SaysInWordsWhatWasChanged) {
  const Outcome outcome = probe(
      "--text @book.txt --length 10 --sequences 4 --groups 2 --intervene rope=none@1-2 --intervene "
      "bos=force --intervene mask=window:3@0");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              testing::EndsWith(", changed: RoPE off in layers 1-2 (counted from 0); BOS in front "
                                "of every sequence; mask: window of 3 keys in layer 0 (counted "
                                "from 0)\n"));
  const ScoreMap map = load_score_map(path("map.npz"));
  EXPECT_THAT(map.provenance.interventions,
              ElementsAre("rope=none@1-2", "bos=force", "mask=window:3@0"));
  EXPECT_THAT(
      map.provenance.changes,
      ElementsAre("RoPE off in layers 1-2 (counted from 0)", "BOS in front of every sequence",
                  "mask: window of 3 keys in layer 0 (counted from 0)"));
  const Outcome metrics = run_program({"metrics", path("map.npz").string()});
  EXPECT_THAT(metrics.out,
              HasSubstr("n 10, changed: RoPE off in layers 1-2 (counted from 0); BOS"));
  const Outcome json = run_program({"metrics", path("map.npz").string(), "--json"});
  EXPECT_EQ(nlohmann::json::parse(json.out)[0]["changes"][1], "BOS in front of every sequence");
}

// Each byte of the text is one token, and its own id.
TEST_F(Probe, TextAndItsTokenIdsGiveTheSameMap) {
  std::string ids = "{\"tokens\": [[";
  for (const char* c = kText; *c != 0; ++c) {
    ids += (c == kText ? "" : ", ") + std::to_string(static_cast<unsigned char>(*c));
  }
  write("ids.json", ids + "]]}");
  const ScoreMap a = run("--text @book.txt --length 10 --sequences 4");
  const ScoreMap b = run("--tokens @ids.json --cut windows --length 10 --sequences 4");
  EXPECT_EQ(a.provenance.text_fingerprint, b.provenance.text_fingerprint);
  EXPECT_EQ(b.provenance.bos_policy, "the file adds no BOS; ids as given");
  for (std::size_t i = 0; i < a.scores.size(); ++i) {
    EXPECT_TRUE(a.scores[i] == b.scores[i] || std::isnan(a.scores[i])) << i;
  }
}

// Scores and losses of transformers (tools/golden), through the whole program.
TEST_F(Probe, GoldenModel) {
  const std::filesystem::path golden = std::filesystem::path(POSLENS_SOURCE) / "tests/model/golden";
  std::filesystem::copy_file(golden / "llama_q4_1.gguf", path("golden.gguf"));
  const NpzContents expected = read_npz(golden / "llama_q4_1.npz");
  const Array& tokens = expected.arrays.at("tokens");
  const std::vector<std::int32_t> ids = tokens.values<std::int32_t>();
  nlohmann::json rows = nlohmann::json::array();
  for (auto row = ids.begin(); row != ids.end(); row += tokens.shape[1]) {
    rows.push_back(std::vector<std::int32_t>(row, row + tokens.shape[1]));
  }
  write("ids.json", nlohmann::json{{"tokens", rows}}.dump());
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"plain", ""},
      {"norope", "--intervene rope=none"},
      {"norope_layer1", "--intervene rope=none@1"},
      {"full", "--intervene mask=full"},
      {"window5", "--intervene mask=window:5"},
      {"prefix6", "--intervene mask=prefix:6"},
      {"shift1000", "--intervene positions=+1000"}};
  for (const auto& [name, options] : cases) {
    const Outcome outcome =
        probe("--tokens @ids.json --length 24 --sequences 3 --force " + options, "golden.gguf");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const ScoreMap map = load_score_map(path("map.npz"));
    const std::vector<float> scores = expected.arrays.at(name + "_scores").values<float>();
    ASSERT_EQ(map.scores.size(), scores.size());
    std::size_t compared = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (std::isnan(map.scores[i])) continue;
      EXPECT_NEAR(map.scores[i], scores[i], 1e-4) << name << ' ' << i;
      ++compared;
    }
    EXPECT_GE(compared, 3 * (24 + 23 + 22 + 21 + 20));  // the window's pairs
    const std::vector<double> loss = expected.arrays.at(name + "_loss").values<double>();
    ASSERT_EQ(map.loss.size(), loss.size());
    for (std::size_t i = 0; i < loss.size(); ++i) EXPECT_NEAR(map.loss[i], loss[i], 1e-4) << name;
  }
}

TEST_F(Probe, LayersThatAreNotAskedForAreLeftOut) {
  const ScoreMap all = run("--text @book.txt --length 10 --sequences 2");
  const ScoreMap some = run("--text @book.txt --length 10 --sequences 2 --layers 0-1");
  EXPECT_THAT(some.layers, ElementsAre(0, 1));
  EXPECT_TRUE(some.loss.empty());  // the run stopped before the last layer
  EXPECT_EQ(some.layer(1)(7, 3), all.layer(1)(7, 3));
}

// How arrays are made is tested with the decoder; here, that options ask for them.
TEST_F(Probe, HiddenStatesAndGramMaps) {
  const std::string base = "--text @book.txt --length 10 --sequences 2 ";
  const ScoreMap plain = run(base);
  EXPECT_TRUE(plain.hidden.empty());
  EXPECT_TRUE(plain.gram.empty());
  const ScoreMap map = run(base + "--layers 0-1 --hidden --gram --intervene rope=none");
  EXPECT_THAT(map.layers, ElementsAre(0, 1));
  EXPECT_EQ(map.hidden.size(), 3 * 10 * static_cast<std::size_t>(map.hidden_width));
  ASSERT_EQ(map.gram.size(), 9);
  EXPECT_EQ(map.gram.at("layer_output").size(), map.scores.size());
  // A mean vector is no longer than the root of the mean square, and here single ones differ.
  double square = 0;
  for (std::int64_t k = 0; k < map.hidden_width; ++k) {
    const auto at = static_cast<std::size_t>(2 * 10 * map.hidden_width + k);
    square += double{map.hidden[at]} * map.hidden[at];
  }
  EXPECT_LT(square, 0.99 * map.gram.at("layer_output")[100]);
  EXPECT_GT(square, 0);
}

TEST_F(Probe, DecodesPositions) {
  const std::string base = "--text @book.txt --length 8 --sequences 5 --layers 0,2 --decode ";
  const ScoreMap map = run(base);
  EXPECT_EQ(map.decoding_r2.size(), 3u);
  const std::pair<std::string, std::string> option{"decode", "states of 16 dimensions"};
  EXPECT_THAT(map.provenance.options, testing::Contains(option));
  const Outcome outcome = run_program({"metrics", path("map.npz").string()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              HasSubstr("\none token's position from its state in one sequence, by a linear fit; 7 "
                        "positions, error at random 2.286, of the middle 1.714\n    layer  R^2"));
  EXPECT_THAT(outcome.out, HasSubstr("\n  after 2  "));
}

TEST_F(Probe, PooledMapsAreMeasuredPlottedAndSubtracted) {
  const std::string base = "--text @book.txt --length 25 --sequences 2 --groups 2 ";
  const ScoreMap map = run(base + "--pool 4 --probs --variance --per-head --hidden");
  EXPECT_EQ(map.n, 7);
  EXPECT_EQ(map.pool, 4);
  EXPECT_EQ(map.positions(), 25);
  EXPECT_EQ(map.loss.size(), 24);
  EXPECT_EQ(map.hidden.size(), 4 * 25 * static_cast<std::size_t>(map.hidden_width));
  EXPECT_EQ(map.profiles.size(), 6);
  EXPECT_EQ(map.profiles.at("probs_diagonals").size(), 3 * 49);
  EXPECT_EQ(map.provenance.averaging,
            "mean over 2 sequences and 2 heads, and over blocks of 4 x 4 positions");
  const std::string pooled = path("map.npz").string();
  EXPECT_EQ(run_program({"diff", pooled, pooled, "--out", path("zero.npz").string()}).code, 0);
  const ScoreMap zero = load_score_map(path("zero.npz"));
  EXPECT_EQ(zero.pool, 4);
  EXPECT_EQ(zero.layer(1)(5, 2), 0);
  EXPECT_EQ(zero.profiles.at("scores_rows")[3], 0);
  const Outcome metrics = run_program({"metrics", pooled});
  EXPECT_EQ(metrics.code, 0) << metrics.err;
  EXPECT_THAT(metrics.out, HasSubstr("7 blocks of 4 positions"));
  EXPECT_EQ(run_program({"plot", pooled, "--out", path("map.svg").string()}).code, 0);

  EXPECT_EQ(probe(base + "--out @window.npz --pool 4 --intervene mask=window:13").code, 0);
  expect_error(run_program({"metrics", path("window.npz").string()}), 1,
               path("window.npz").string() +
                   ": layer 0: expected all keys before a query to be visible in a map pooled over "
                   "blocks of 4 positions, found a window");
}

TEST_F(Probe, Interventions) {
  const std::string base = "--text @book.txt --length 10 --sequences 4 ";
  const ScoreMap plain = run(base);
  const ScoreMap full = run(base + "--intervene mask=full --intervene rope=none@1-2");
  EXPECT_FALSE(std::isnan(full.layer(0)(2, 7)));
  EXPECT_EQ(full.count[2 * 10 + 7], 4);
  EXPECT_THAT(full.provenance.interventions, ElementsAre("mask=full", "rope=none@1-2"));
  EXPECT_NE(full.layer(1)(7, 2), plain.layer(1)(7, 2));
  // The first layer's inputs know nothing of the mask.
  EXPECT_EQ(full.layer(0)(7, 2), plain.layer(0)(7, 2));
  // Only differences of positions count.
  const ScoreMap shifted = run(base + "--intervene positions=+1000");
  EXPECT_NEAR(shifted.layer(2)(7, 2), plain.layer(2)(7, 2), 1e-3);

  const ScoreMap bos = run(base + "--intervene bos=force");
  EXPECT_EQ(bos.provenance.bos_policy,
            "the file adds no BOS; token 258 in front of every sequence (bos=force)");
  EXPECT_NE(bos.provenance.text_fingerprint, plain.provenance.text_fingerprint);
}

TEST_F(Probe, ShuffleIsTheSeeds) {
  const std::string base = "--text @book.txt --length 10 --sequences 4 ";
  const ScoreMap plain = run(base);
  const ScoreMap one = run(base + "--shuffle within --seed 1");
  const ScoreMap again = run(base + "--shuffle within --seed 1");
  const ScoreMap two = run(base + "--shuffle within --seed 2");
  EXPECT_EQ(one.layer(0)(7, 2), again.layer(0)(7, 2));
  EXPECT_NE(one.layer(0)(7, 2), two.layer(0)(7, 2));
  EXPECT_NE(one.layer(0)(7, 2), plain.layer(0)(7, 2));
  EXPECT_EQ(one.provenance.seed, 1);
  EXPECT_EQ(one.provenance.averaging,
            "mean over 4 sequences and 2 heads, the tokens of each sequence in random order");
}

TEST_F(Probe, BadOptions) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--length 10", "--text: expected --text FILE|DIR or --tokens FILE, found neither"},
      {"--text @book.txt --tokens t.json",
       "--tokens t.json: expected --text or --tokens, found both"},
      {"--text @book.txt --length 1", "--length 1: expected 2 to 1048576"},
      {"--text @book.txt --length ten", "--length ten: expected an integer"},
      {"--text @book.txt --sequences 0", "--sequences 0: expected 1 to 1000000000"},
      {"--text @book.txt --cut end", "--cut end: expected automatic, start or windows"},
      {"--text @book.txt --dtype f16", "--dtype f16: expected f32 or bf16"},
      {"--text @book.txt --sequences 4 --groups 5",
       "--groups 5: expected 1 to 4, the number of sequences"},
      {"--text @book.txt --groups 0", "--groups 0: expected 1 to 16, the number of sequences"},
      {"--text @book.txt --memory 4",
       "--memory 4: expected a size of 16MiB to 1024TiB, such as 4GiB"},
      {"--text @book.txt --memory 4KiB",
       "--memory 4KiB: expected a size of 16MiB to 1024TiB, such as 4GiB"},
      {"--text @book.txt --memory GiB", "--memory GiB"},
      {"--text @book.txt --memory -1GiB", "--memory -1GiB"},
      {"--text @book.txt --memory nanGiB", "--memory nanGiB"},
      {"--text @book.txt --shuffle across", "--shuffle across: expected within"},
      {"--text @book.txt --seed -1", "--seed -1: expected an integer that is not negative"},
      {"--text @book.txt --layers 0-", "--layers 0-: expected a list of layers"},
      {"--text @book.txt --layers 2-1", "--layers 2-1: expected a list of layers"},
      {"--text @book.txt --intervene rope=maybe", "--intervene rope=maybe: expected"},
      {"--text @book.txt --pool four", "--pool four: expected an integer"},
      {"--text @book.txt --length 10 --pool 0",
       "--pool 0: expected 1 to 10, the length of a sequence"},
      {"--text @book.txt --length 10 --pool 11",
       "--pool 11: expected 1 to 10, the length of a sequence"},
      {"--text @book.txt --length 10 --sequences 2 --pool 2 --gram",
       "--pool 2: expected without --gram, whose maps are not pooled"},
      {"--text @book.txt --length 10 --sequences 3 --decode",
       "--decode: expected at least 4 sequences, two to fit and two to test, found 3"},
      {"--text @book.txt --length 10 --sequences 8 --decode --shard 1/2",
       "--decode excludes --shard"},
  };
  for (const auto& [options, message] : cases) {
    expect_error_with(probe(options), 2, "poslens: error: " + message);
  }
  expect_error(run_program({"probe", "--text", "x", "--out", "y"}), 2, "MODEL is required");
  expect_nothing_written();
}

TEST_F(Probe, LayersOutOfRange) {
  const std::string base = "--text @book.txt --length 10 --sequences 2 ";
  expect_error(probe(base + "--layers 0,3"), 2, "--layers 3: the model has 3 layers, 0 to 2");
  expect_error(probe(base + "--intervene rope=none@7"), 2,
               "--intervene rope=none@7: layer 7: the model has 3 layers, 0 to 2");
  expect_nothing_written();
}

TEST_F(Probe, AnExistingOutputIsKept) {
  const std::string out = write("map.npz", "mine").string();
  // Before any work: the model is not even there.
  expect_error(probe("--text @book.txt", "none.gguf"), 1,
               out + ": exists already; --force replaces it");
  EXPECT_EQ(std::filesystem::file_size(out), 4);
}

TEST_F(Probe, TextsThatDoNotDo) {
  const std::string book = path("book.txt").string();
  expect_error(probe("--text @book.txt --length 53 --sequences 1"), 1,
               book +
                   ": expected 1 sequence of 53 tokens, found 0; documents long enough: 0, too "
                   "short: 1");
  expect_error(probe("--text @book.txt --length 26 --sequences 3"), 1,
               book +
                   ": expected 3 sequences of 26 tokens, found 2; documents long enough: 1, too "
                   "short: 0");
  expect_error(probe("--text @none.txt"), 1,
               path("none.txt").string() + ": no such file or folder");
  write("latin.txt", "caf\xe9 au lait, encore et encore");
  expect_error_with(probe("--text @latin.txt --length 8 --sequences 1"), 1,
                    path("latin.txt").string() + ": ");
  write("lines.jsonl", "{\"text\": \"abcdefgh\"}\n{\"text\": 8}\n");
  expect_error(probe("--text @lines.jsonl --length 8 --sequences 2"), 1,
               path("lines.jsonl").string() +
                   ": line 2: expected a JSON object with a string under the key 'text'");
  std::filesystem::create_directory(path("folder"));
  expect_error_with(probe("--text @folder"), 1, "expected .txt or .jsonl files in the folder");
  expect_nothing_written();
}

TEST_F(Probe, TokensThatDoNotDo) {
  const std::string ids = write("ids.json", "{\"tokens\": [[1, 2, 3], [4, 5, 259]]}").string();
  expect_error(probe("--tokens @ids.json --length 3 --sequences 2"), 1,
               ids + ": row 1: token 2: expected an id of 0 to 258, found 259");
  write("ids.json", "{\"tokens\": [[1, 2, 3]");
  expect_error_with(probe("--tokens @ids.json --length 3"), 1, ids + ": expected JSON");
  expect_error_with(probe("--tokens @none.json"), 1, "none.json: no such file");
  expect_nothing_written();
}

TEST_F(Probe, AnUnknownPreTokenizerRefusesTextAndTakesIds) {
  for (const std::string pre : {"", "dream"}) {
    tiny_model(pre).write(path("unknown.gguf").string());
    write("ids.json", "{\"tokens\": [[1, 2, 3]]}");
    expect_error_with(probe("--text @book.txt --length 3 --sequences 1", "unknown.gguf"), 1,
                      path("unknown.gguf").string() + ": ");
    expect_nothing_written();
    const Outcome outcome = probe("--tokens @ids.json --length 3 --sequences 1", "unknown.gguf");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::filesystem::remove(path("map.npz"));
  }
}

TEST_F(Probe, ModelsThatDoNotDo) {
  const std::string options = "--text @book.txt --length 8 --sequences 1";
  expect_error_with(probe(options, "none.gguf"), 1, path("none.gguf").string() + ": ");
  const std::string whole = tiny_model().bytes();
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{3}, std::size_t{20}, whole.size() / 8, whole.size() - 1}) {
    write("cut.gguf", whole.substr(0, length));
    expect_error_with(probe(options, "cut.gguf"), 1, path("cut.gguf").string() + ": ");
  }
  expect_error_with(probe(options, "book.txt"), 1, path("book.txt").string() + ": ");
  expect_nothing_written();
}

}  // namespace
}  // namespace poslens
