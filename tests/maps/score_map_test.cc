#include "poslens/score_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "poslens/error.h"
#include "poslens/npz.h"
#include "support/temporary_folder.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::vector<float> numbers(std::size_t count, float first) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

// Layers 1 and 4 of 3 tokens, with every optional array and every field of the provenance.
ScoreMap full_map() {
  ScoreMap map = ScoreMap::sized({1, 4}, 3);
  map.source = Source::model;
  map.stage = Stage::biased;
  map.scores = numbers(18, 1);
  map.scores[1] = std::numeric_limits<float>::quiet_NaN();
  map.count = {5, 0, 0, 5, 5, 0, 5, 5, 5};
  map.variance = numbers(18, 100);
  map.probs = numbers(18, 200);
  map.groups = 3;
  map.scores_groups = numbers(3 * 18, 300);
  map.heads = 5;
  map.scores_heads = numbers(5 * 18, 400);
  map.loss = {2.5, 1.25};
  map.recency = {0.5, 0.75};
  map.monotonicity = {0.125, 0.25};
  map.readout_r2 = {0.5, 0.625};
  map.readout_error = {3, 4};
  map.decoding_r2 = {0.5, 0.25, 0.125};
  map.decoding_error = {1, 2, 3};
  map.decoding_r2_leave_one_out = {1, 2, 3, 4, 5, 6};
  map.decoding_error_leave_one_out = {7, 8, 9, 10, 11, 12};
  map.hidden_norm = numbers(3 * 3, 500);
  map.hidden_cosine = numbers(3 * 9, 600);
  map.gram = {{"heads", numbers(18, 800)}, {"layer_output", numbers(18, 900)}};
  map.hidden_width = 2;
  map.hidden = numbers(3 * 3 * 2, 700);
  Provenance& provenance = map.provenance;
  provenance.averaging = "mean over 5 sequences";
  provenance.options = {{"length", "3"}, {"dtype", "f32"}};
  provenance.engine = "dense";
  provenance.model = "a model";
  provenance.model_fingerprint = "0123456789abcdef";
  provenance.bos_policy = "none";
  provenance.interventions = {"rope=none@2", "mask=full"};
  provenance.text = "text \xc3\xa9.txt";
  provenance.text_fingerprint = "fedcba9876543210";
  provenance.documents_used = 5;
  provenance.documents_skipped = 2;
  provenance.seed = UINT64_MAX;
  provenance.program = "poslens 0";
  provenance.command_line = "poslens probe \"x\"";
  provenance.seconds = 1.0 / 3;
  provenance.peak_memory_bytes = std::int64_t{1} << 40;
  return map;
}

void expect_same_floats(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) << i;
  }
}

void expect_same(const ScoreMap& a, const ScoreMap& b) {
  EXPECT_EQ(a.source, b.source);
  EXPECT_EQ(a.stage, b.stage);
  EXPECT_EQ(a.n, b.n);
  EXPECT_EQ(a.layers, b.layers);
  expect_same_floats(a.scores, b.scores);
  EXPECT_EQ(a.count, b.count);
  EXPECT_EQ(a.variance, b.variance);
  EXPECT_EQ(a.probs, b.probs);
  EXPECT_EQ(a.groups, b.groups);
  EXPECT_EQ(a.scores_groups, b.scores_groups);
  EXPECT_EQ(a.heads, b.heads);
  EXPECT_EQ(a.scores_heads, b.scores_heads);
  EXPECT_EQ(a.loss, b.loss);
  EXPECT_EQ(a.recency, b.recency);
  EXPECT_EQ(a.monotonicity, b.monotonicity);
  EXPECT_EQ(a.readout_r2, b.readout_r2);
  EXPECT_EQ(a.readout_error, b.readout_error);
  EXPECT_EQ(a.decoding_r2, b.decoding_r2);
  EXPECT_EQ(a.decoding_error, b.decoding_error);
  EXPECT_EQ(a.decoding_r2_leave_one_out, b.decoding_r2_leave_one_out);
  EXPECT_EQ(a.decoding_error_leave_one_out, b.decoding_error_leave_one_out);
  EXPECT_EQ(a.hidden_norm, b.hidden_norm);
  EXPECT_EQ(a.hidden_cosine, b.hidden_cosine);
  EXPECT_EQ(a.hidden_width, b.hidden_width);
  EXPECT_EQ(a.hidden, b.hidden);
  EXPECT_EQ(a.gram, b.gram);
  const Provenance &p = a.provenance, &q = b.provenance;
  EXPECT_EQ(p.averaging, q.averaging);
  EXPECT_EQ(p.options, q.options);
  EXPECT_EQ(p.engine, q.engine);
  EXPECT_EQ(p.model, q.model);
  EXPECT_EQ(p.model_fingerprint, q.model_fingerprint);
  EXPECT_EQ(p.bos_policy, q.bos_policy);
  EXPECT_EQ(p.interventions, q.interventions);
  EXPECT_EQ(p.text, q.text);
  EXPECT_EQ(p.text_fingerprint, q.text_fingerprint);
  EXPECT_EQ(p.documents_used, q.documents_used);
  EXPECT_EQ(p.documents_skipped, q.documents_skipped);
  EXPECT_EQ(p.seed, q.seed);
  EXPECT_EQ(p.program, q.program);
  EXPECT_EQ(p.command_line, q.command_line);
  EXPECT_EQ(p.seconds, q.seconds);
  EXPECT_EQ(p.peak_memory_bytes, q.peak_memory_bytes);
}

TEST(ScoreMap, RoundTripsWithAllItCanHold) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "map.npz";
  const ScoreMap map = full_map();
  save(map, path);
  expect_same(map, load_score_map(path));
}

TEST(ScoreMap, RoundTripsWithNothingOptional) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "map.npz";
  for (const Source source : {Source::theory, Source::simulation, Source::model}) {
    for (const Stage stage : {Stage::raw, Stage::scaled, Stage::capped, Stage::biased}) {
      ScoreMap map = ScoreMap::sized({0}, 2);
      map.source = source;
      map.stage = stage;
      save(map, path);
      expect_same(map, load_score_map(path));
    }
  }
}

TEST(ScoreMap, ViewsPickTheRightMap) {
  const ScoreMap map = full_map();
  EXPECT_EQ(map.place_of(4), 1);
  EXPECT_EQ(map.layer(1)(2, 1), 1 + 9 + 2 * 3 + 1);
  EXPECT_EQ(map.group_layer(2, 1)(0, 2), 300 + (2 * 2 + 1) * 9 + 2);
  EXPECT_THROW(map.place_of(0), Error);
}

TEST(ScoreMap, APathThatIsNoUtf8DoesNotSpoilTheFile) {
  const TemporaryFolder folder;
  ScoreMap map = full_map();
  map.provenance.text = "caf\xe9.txt";
  save(map, folder.path() / "map.npz");
  EXPECT_EQ(load_score_map(folder.path() / "map.npz").provenance.text, "caf\xef\xbf\xbd.txt");
}

// 5 positions in blocks of 2.
TEST(ScoreMap, PooledMapsRoundTrip) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "map.npz";
  ScoreMap map = full_map();
  map.hidden_norm = map.hidden_cosine = {};
  map.pool = 2;
  map.pooled_positions = 5;
  map.loss = {1, 2, 3, 4};
  map.hidden = numbers(3 * 5 * 2, 700);
  map.profiles["scores_rows"] = std::vector<double>(2 * 5, 0.5);
  map.profiles["probs_columns"] = std::vector<double>(2 * 5, 0.25);
  map.profiles["scores_diagonals"] = std::vector<double>(2 * 9, 0.125);
  save(map, path);
  const ScoreMap loaded = load_score_map(path);
  expect_same(map, loaded);
  EXPECT_EQ(loaded.pool, 2);
  EXPECT_EQ(loaded.positions(), 5);
  EXPECT_EQ(loaded.profiles, map.profiles);
  map.pooled_positions = 7;
  map.loss = {};
  map.hidden = {};
  map.profiles.clear();
  save(map, path);
  try {
    load_score_map(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("count: expected 7 positions in blocks of 2, found 3"));
  }
}

// An artefact with this or that wrong.
struct Parts {
  std::string meta = meta_json(full_map());
  std::vector<std::int32_t> layers = {1, 4};
  std::vector<float> scores = numbers(18, 0);
  std::vector<std::int64_t> count = std::vector<std::int64_t>(9, 1);
  std::map<std::string, ArrayRef> arrays = {
      {"layers", array_ref("layers", {2}, std::span<const std::int32_t>(layers))},
      {"scores", array_ref("scores", {2, 3, 3}, std::span<const float>(scores))},
      {"count", array_ref("count", {3, 3}, std::span<const std::int64_t>(count))}};

  void replace(ArrayRef array) { arrays[array.name] = std::move(array); }
  std::string refusal() const {
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "map.npz";
    std::vector<ArrayRef> list;
    for (const auto& [name, array] : arrays) list.push_back(array);
    std::map<std::string, std::string> texts;
    if (!meta.empty()) texts["meta.json"] = meta;
    write_npz(path, list, texts);
    try {
      load_score_map(path);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }
};

TEST(BadScoreMap, MissingParts) {
  EXPECT_EQ(Parts().refusal(), "accepted");
  for (const char* name : {"layers", "scores", "count"}) {
    Parts parts;
    parts.arrays.erase(name);
    EXPECT_THAT(parts.refusal(), HasSubstr(std::string("map.npz: has no array '") + name + "'"));
  }
  Parts parts;
  parts.meta.clear();
  EXPECT_THAT(parts.refusal(), HasSubstr("map.npz: has no meta.json"));
}

TEST(BadScoreMap, WrongTypesAndShapes) {
  const std::vector<double> doubles(18);
  const std::vector<std::int64_t> integers(9);
  const std::vector<float> floats = numbers(72, 0);
  const std::vector<std::int32_t> descending = {4, 1}, negative = {-1, 4};
  const std::vector<std::pair<ArrayRef, std::string>> cases = {
      {array_ref("scores", {2, 3, 3}, doubles), "scores: values of an unexpected type"},
      {array_ref("scores", {3, 3, 2}, std::span(floats).first(18)),
       "scores: expected shape [2, 3, 3], found [3, 3, 2]"},
      {array_ref("scores", {1, 3, 3}, std::span(floats).first(9)), "scores: expected shape"},
      {array_ref("layers", {1, 2}, descending), "layers: expected 1 dimensions, found 2"},
      {array_ref("layers", {2}, descending), "layers: expected layer numbers in ascending order"},
      {array_ref("layers", {2}, negative), "layers: expected layer numbers in ascending order"},
      {array_ref("layers", {0}, std::span<const std::int32_t>()), "layers: expected layer numbers"},
      {array_ref("count", {9}, integers), "count: expected 2 dimensions"},
      {array_ref("count", {0, 9}, std::span<const std::int64_t>()),
       "count: expected at least 1 x 1"},
      {array_ref("variance", {2, 3, 2}, std::span(floats).first(12)), "variance: expected shape"},
      {array_ref("probs", {18}, std::span(floats).first(18)), "probs: expected shape"},
      {array_ref("scores_groups", {2, 1, 3, 3}, std::span(floats).first(18)),
       "scores_groups: expected shape [2, 2, 3, 3]"},
      {array_ref("scores_heads", {4, 2, 3, 3}, floats), "scores_heads: expected shape"},
      {array_ref("loss", {3}, std::span(doubles).first(3)), "loss: expected shape [2], found [3]"},
      {array_ref("loss", {2}, std::span(floats).first(2)), "loss: values of an unexpected type"},
      {array_ref("recency", {3}, std::span(doubles).first(3)), "recency: expected shape [2]"},
      {array_ref("gram_heads", {2, 3, 2}, std::span(floats).first(12)),
       "gram_heads: expected shape [2, 3, 3], found [2, 3, 2]"},
      {array_ref("hidden", {2, 3, 4}, std::span(floats).first(24)),
       "hidden: expected shape [3, 3, 4], found [2, 3, 4]"},
  };
  for (const auto& [array, message] : cases) {
    Parts parts;
    parts.replace(array);
    EXPECT_THAT(parts.refusal(), HasSubstr("map.npz: " + message));
  }
}

TEST(BadScoreMap, Meta) {
  const auto with = [](const std::string& from, const std::string& to) {
    Parts parts;
    parts.meta.replace(parts.meta.find(from), from.size(), to);
    return parts.refusal();
  };
  EXPECT_THAT(with("poslens/1", "poslens/2"),
              HasSubstr(R"(map.npz: meta.json: schema: expected poslens/1, found "poslens/2")"));
  EXPECT_THAT(with("\"model\"", "\"dream\""), HasSubstr("source: unknown value 'dream'"));
  EXPECT_THAT(with("biased", "baked"), HasSubstr("stage: unknown value 'baked'"));
  EXPECT_THAT(with("\"seed\"", "\"sead\""), HasSubstr("seed"));
  EXPECT_THAT(with("{", "["), HasSubstr("map.npz: meta.json: expected the JSON"));
  Parts parts;
  parts.meta = "[]";
  EXPECT_THAT(parts.refusal(), HasSubstr("map.npz: meta.json: expected the JSON"));
}

}  // namespace
}  // namespace poslens
