// Runs of a model in parts: shards and their merge, and runs that go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "model/run_plan.h"
#include "poslens/error.h"
#include "poslens/probe.h"
#include "poslens/threads.h"
#include "support/temporary_folder.h"
#include "support/tiny_model.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using NamedMaps = std::vector<std::pair<std::string, ScoreMap>>;

constexpr std::int64_t kSequences = 11;

class ProbeParts : public testing::Test {
 protected:
  ProbeParts() {
    tiny_model().write(model_file().string());
    model_ = load_model(model_file());
    options_.decoder.groups = 3;
    options_.decoder.per_head = true;
    options_.decoder.probs = true;
    options_.decoder.variance = true;
    options_.shuffle = true;
    options_.seed = 6;
  }

  fs::path model_file() const { return folder_.path() / "tiny.gguf"; }
  fs::path state_file() const { return folder_.path() / "map.npz.partial"; }

  Corpus corpus(std::uint64_t seed = 3) const {
    RandomStream random(seed, 1);
    Corpus corpus;
    corpus.batch.length = 13;
    for (std::int64_t i = 0; i < kSequences * corpus.batch.length; ++i) {
      corpus.batch.ids.push_back(static_cast<std::int32_t>(random.below(256)));
    }
    corpus.fingerprint = std::to_string(seed);
    corpus.source = "random";
    return corpus;
  }

  // The least --memory with which that many sequences go through a layer together.
  std::int64_t memory_for(std::int64_t sequences) const {
    std::int64_t low = 1, high = std::int64_t{1} << 32;
    while (low < high) {
      DecoderOptions tried = options_.decoder;
      tried.memory_bytes = low + (high - low) / 2;
      bool enough = false;
      try {
        const TokenBatch batch = corpus().batch;
        enough = plan_run(model_.spec, batch, tried, thread_count()).chunk_sequences >= sequences;
      } catch (const UsageError&) {  // not even one
      }
      (enough ? high : low) = tried.memory_bytes + (enough ? 0 : 1);
    }
    return low;
  }

  NamedMaps shards(const ProbeOptions& options, int count) const {
    NamedMaps maps;
    for (int index = 1; index <= count; ++index) {
      ProbeOptions own = options;
      own.shard = Shard{index, count};
      maps.emplace_back("part" + std::to_string(index), probe(model_, corpus(), own));
    }
    return maps;
  }

  static ScoreMap merge(const NamedMaps& shards) {
    std::vector<std::string> names;
    names.reserve(shards.size());
    for (const auto& [name, map] : shards) names.push_back(name);
    auto next = shards.begin();
    return merge_probes(names, [&](const std::string&) { return (next++)->second; });
  }

  static std::string refusal(const NamedMaps& shards) {
    try {
      merge(shards);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  template <typename T>
  static void expect_near(const std::vector<T>& a, const std::vector<T>& b, double bound,
                          const char* what) {
    ASSERT_EQ(a.size(), b.size()) << what;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(a[i]) && std::isnan(b[i])) continue;
      ASSERT_NEAR(a[i], b[i], bound) << what << ' ' << i;
    }
  }

  const TemporaryFolder folder_;
  LoadedModel model_;
  ProbeOptions options_;
};

TEST_F(ProbeParts, ShardsMergeEveryObservable) {
  for (const std::int64_t pool : {1, 4}) {
    options_.decoder.pool = pool;
    options_.decoder.hidden = true;
    options_.decoder.gram = pool == 1;
    const ScoreMap whole = probe(model_, corpus(), options_);
    const ScoreMap merged = merge(shards(options_, 4));
    expect_near(merged.scores, whole.scores, 1e-5, "scores");
    expect_near(merged.variance, whole.variance, 1e-5, "variance");
    expect_near(merged.hidden, whole.hidden, 1e-5, "hidden");
    ASSERT_EQ(whole.gram.size(), pool == 1 ? 9u : 0u);
    ASSERT_EQ(merged.gram.size(), whole.gram.size());
    for (const auto& [name, maps] : whole.gram) {
      expect_near(merged.gram.at(name), maps, 1e-4, name.c_str());
    }
    ASSERT_EQ(whole.profiles.size(), pool == 1 ? 0u : 6u);
    ASSERT_EQ(merged.profiles.size(), whole.profiles.size());
    for (const auto& [name, values] : whole.profiles) {
      expect_near(merged.profiles.at(name), values, 1e-5, name.c_str());
    }
    EXPECT_EQ(merged.pool, pool);
    EXPECT_EQ(merged.positions(), 13);
  }
  // Shards of runs that kept other things are not joined.
  NamedMaps mixed = shards(options_, 2);
  mixed[1].second.profiles.erase("scores_rows");
  EXPECT_THAT(refusal(mixed), HasSubstr("part2: holds other arrays than the first shard"));
}

// Groups count over the whole run: 11 sequences in 4 shards and 3 groups leave a shard without some
// group, and in 11 shards without a variance of its own.
TEST_F(ProbeParts, ShardsMergeToOneRun) {
  const ScoreMap whole = probe(model_, corpus(), options_);
  ASSERT_EQ(whole.loss.size(), 12u);
  for (const int count : {1, 2, 4, 11}) {
    const ScoreMap merged = merge(shards(options_, count));
    float largest = 0;
    for (const float score : whole.scores_heads) {
      if (!std::isnan(score)) largest = std::max(largest, std::abs(score));
    }
    const double bound = 1e-6 * double{largest};
    expect_near(merged.scores, whole.scores, bound, "scores");
    expect_near(merged.scores_groups, whole.scores_groups, bound, "groups");
    expect_near(merged.scores_heads, whole.scores_heads, bound, "heads");
    expect_near(merged.probs, whole.probs, 1e-6, "probs");
    expect_near(merged.variance, whole.variance, 1e-6 * double{largest} * double{largest},
                "variance");
    expect_near(merged.loss, whole.loss, 1e-6, "loss");
    EXPECT_EQ(merged.count, whole.count);
    EXPECT_EQ(merged.layers, whole.layers);
    EXPECT_EQ(merged.provenance.averaging, whole.provenance.averaging);
    EXPECT_NO_THROW(check_same_run(merged.provenance, whole.provenance));
    EXPECT_EQ(shard_of(merged), std::nullopt);
  }
}

TEST_F(ProbeParts, AShardSaysWhatItIs) {
  options_.shard = Shard{2, 4};  // sequences 2, 3 and 4
  const ScoreMap map = probe(model_, corpus(), options_);
  EXPECT_EQ(map.count[0], 3);
  EXPECT_EQ(map.provenance.averaging,
            "mean over 3 of 11 sequences and 2 heads, the tokens of each sequence in random order");
  EXPECT_EQ(shard_of(map), "2/4");
  options_.shard = Shard{2, 12};
  try {
    probe(model_, corpus(), options_);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "--shard 2/12: expected at most as many shards as there are sequences, 11");
  }
}

TEST_F(ProbeParts, ShardsThatDoNotBelongTogetherAreRefused) {
  const NamedMaps three = shards(options_, 3);
  EXPECT_EQ(refusal({three[0], three[2]}), "expected every shard, but these are missing: 2/3");
  EXPECT_EQ(refusal({three[0], three[1], three[1], three[2]}),
            "part2: shard 2/3 is given twice, also as part2");
  EXPECT_EQ(refusal({}), "expected shards to merge, found none");
  EXPECT_THAT(refusal({three[0], {"whole", probe(model_, corpus(), options_)}}),
              HasSubstr("whole: expected a shard of a model's run"));
  EXPECT_EQ(refusal({three[0], shards(options_, 2)[1]}),
            "part2: expected one of 3 shards, as part1 is, found shard 2/2");

  const auto other = [&](const auto& change) {
    ProbeOptions changed = options_;
    Corpus text = corpus();
    changed.shard = Shard{2, 3};
    change(changed, text);
    return refusal({three[0], {"other", probe(model_, text, changed)}, three[2]});
  };
  EXPECT_EQ(other([](ProbeOptions&, Corpus&) {}), "accepted");
  EXPECT_EQ(other([](ProbeOptions& o, Corpus&) { o.decoder.memory_bytes *= 2; }), "accepted");
  EXPECT_EQ(other([](ProbeOptions& o, Corpus&) { o.seed = 7; }),
            "other: expected --seed 6, found 7");
  EXPECT_EQ(other([](ProbeOptions& o, Corpus&) { o.shuffle = false; }),
            "other: expected --shuffle within, found none");
  EXPECT_EQ(other([](ProbeOptions& o, Corpus&) { o.decoder.groups = 2; }),
            "other: expected --groups 3, found 2");
  EXPECT_EQ(other([](ProbeOptions& o, Corpus&) { o.decoder.per_head = false; }),
            "other: expected --per-head on, found none");
  EXPECT_EQ(other([](ProbeOptions& o, Corpus&) {
              o.decoder.layers = {0, 2};
            }),
            "other: expected --layers 0,1,2, found 0,2");
  EXPECT_EQ(other([](ProbeOptions& o, Corpus&) { o.decoder.compute_type = ComputeType::bf16; }),
            "other: expected --dtype f32, found bf16");
  EXPECT_EQ(other([](ProbeOptions& o, Corpus&) {
              o.interventions = {parse_intervention("rope=none@1")};
            }),
            "other: expected --intervene none, found rope=none@1");
  EXPECT_EQ(other([&](ProbeOptions&, Corpus& text) { text.fingerprint = "4"; }),
            "other: expected text fingerprint 3, found 4");
  EXPECT_EQ(other([&](ProbeOptions&, Corpus& text) { text.bos_policy = "forced"; }),
            "other: expected BOS policy: , found forced");
  NamedMaps changed = three;
  changed[1].second.provenance.model_fingerprint = "0123";
  EXPECT_THAT(refusal(changed), HasSubstr("part2: expected model fingerprint "));
  changed = three;
  changed[1].second.probs.pop_back();
  EXPECT_EQ(refusal(changed), "part2: probs: expected 507 values, found 506");
  changed = three;
  changed[0].second.provenance.options[1].second = "many";
  EXPECT_EQ(refusal(changed), "part1: options: expected a whole number as 'sequences'");
}

// A state is what a run that dies then would have left: written after each chunk here.
TEST_F(ProbeParts, AResumedRunHasTheBitsOfAnUninterruptedOne) {
  const int threads = thread_count();
  for (const bool sharded : {false, true}) {
    if (sharded) options_.shard = Shard{2, 2};  // 6 sequences
    for (const int count : {1, 2}) {
      set_thread_count(count);
      options_.decoder.memory_bytes = memory_for(4);
      const ScoreMap whole = probe(model_, corpus(), options_);
      probe(model_, corpus(), options_, {state_file(), 0, false});
      const ScoreMap resumed = probe(model_, corpus(), options_, {state_file(), 1000, true});
      const auto bits = [](const auto& values) { return std::as_bytes(std::span(values)); };
      const auto same = [&](const auto& a, const auto& b) {
        return std::ranges::equal(bits(a), bits(b));
      };
      EXPECT_TRUE(same(resumed.scores, whole.scores));
      EXPECT_TRUE(same(resumed.scores_groups, whole.scores_groups));
      EXPECT_TRUE(same(resumed.scores_heads, whole.scores_heads));
      EXPECT_TRUE(same(resumed.probs, whole.probs));
      EXPECT_TRUE(same(resumed.variance, whole.variance));
      EXPECT_TRUE(same(resumed.loss, whole.loss));
      EXPECT_GT(resumed.provenance.seconds, 0);
      fs::remove(state_file());
    }
  }
  set_thread_count(threads);
}

TEST_F(ProbeParts, AResumedRunKeepsHiddenStatesGramMapsAndPooledOnes) {
  for (const int pool : {1, 4}) {
    options_.decoder.pool = pool;
    options_.decoder.hidden = true;
    options_.decoder.decode = true;
    options_.decoder.gram = pool == 1;  // refused with a pool
    options_.decoder.memory_bytes = memory_for(4);
    const ScoreMap whole = probe(model_, corpus(), options_);
    probe(model_, corpus(), options_, {state_file(), 0, false});
    ASSERT_TRUE(fs::exists(state_file()));
    const ScoreMap resumed = probe(model_, corpus(), options_, {state_file(), 1000, true});
    ASSERT_FALSE(whole.hidden.empty());
    EXPECT_EQ(resumed.hidden, whole.hidden);
    ASSERT_EQ(whole.decoding_r2.size(), 4u);
    EXPECT_EQ(resumed.decoding_r2, whole.decoding_r2);
    EXPECT_EQ(resumed.decoding_error_leave_one_out, whole.decoding_error_leave_one_out);
    EXPECT_EQ(whole.gram.size(), pool == 1 ? 9 : 0);
    ASSERT_EQ(resumed.gram.size(), whole.gram.size());
    for (const auto& [stage, map] : whole.gram) {
      expect_near(resumed.gram.at(stage), map, 0, stage.c_str());
    }
    EXPECT_EQ(whole.profiles.empty(), pool == 1);
    ASSERT_EQ(resumed.profiles.size(), whole.profiles.size());
    for (const auto& [name, means] : whole.profiles) {
      expect_near(resumed.profiles.at(name), means, 0, name.c_str());
    }
    expect_near(resumed.scores, whole.scores, 0, "scores");
    fs::remove(state_file());
  }
}

TEST_F(ProbeParts, NoStateIsWrittenAfterTheLastChunk) {
  probe(model_, corpus(), options_, {state_file(), 0, false});
  EXPECT_FALSE(fs::exists(state_file()));
}

TEST_F(ProbeParts, StatesOfOtherRunsAndDamagedOnesAreRefused) {
  options_.decoder.memory_bytes = memory_for(4);
  probe(model_, corpus(), options_, {state_file(), 0, false});
  const auto refused = [&](const auto& change) {
    ProbeOptions changed = options_;
    Corpus text = corpus();
    change(changed, text);
    try {
      probe(model_, text, changed, {state_file(), 1000, true});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const auto nothing = [](ProbeOptions&, Corpus&) {};
  const std::string name = state_file().string();
  EXPECT_EQ(refused(nothing), "accepted");
  EXPECT_EQ(refused([](ProbeOptions& o, Corpus&) { o.seed = 9; }),
            name + ": expected --seed 9, found 6");
  EXPECT_EQ(refused([](ProbeOptions& o, Corpus&) { o.decoder.variance = false; }),
            name + ": expected --variance none, found on");
  EXPECT_EQ(refused([](ProbeOptions& o, Corpus&) {
              o.shard = Shard{1, 2};
            }),
            name + ": expected --shard 1/2, found none");
  EXPECT_EQ(refused([](ProbeOptions&, Corpus& text) { text.fingerprint = "4"; }),
            name + ": expected text fingerprint 4, found 3");
  EXPECT_THAT(refused([](ProbeOptions& o, Corpus&) { o.decoder.loss = false; }),
              HasSubstr(name + ": expected arrays "));

  std::ifstream file(state_file(), std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  const auto damaged = [&](const std::string& content) {
    std::ofstream(state_file(), std::ios::binary) << content;
    return refused(nothing);
  };
  EXPECT_EQ(damaged(whole.substr(0, whole.size() / 2)), name + ": is cut off");
  EXPECT_THAT(damaged(whole.substr(0, 100)), HasSubstr("expected the state of an interrupted run"));
  EXPECT_THAT(damaged(""), HasSubstr("expected the state of an interrupted run"));
  std::string flipped = whole;
  flipped[whole.size() / 2] ^= 4;
  EXPECT_EQ(damaged(flipped), name + ": is damaged (its checksum differs)");
  EXPECT_EQ(damaged(whole + "0"), name + ": is damaged (its checksum differs)");
  EXPECT_EQ(damaged(whole), "accepted");
}

}  // namespace
}  // namespace poslens
