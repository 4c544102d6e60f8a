#include "poslens/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "poslens/error.h"
#include "support/temporary_folder.h"
#include "support/tiny_model.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ProbeTest : public testing::Test {
 protected:
  ProbeTest() { std::ofstream(text_) << "It was the best of times, it was the worst of times."; }

  LoadedModel load(const std::string& pre = "gpt-2") const {
    const fs::path path = folder_.path() / "tiny.gguf";
    tiny_model(pre).write(path.string());
    return load_model(path);
  }
  Corpus corpus(const LoadedModel& model,
                const std::vector<std::string>& interventions = {}) const {
    CorpusOptions options;
    options.text = text_;
    options.length = 12;
    options.sequences = 3;
    return read_corpus(model, options, parse(interventions));
  }
  static std::vector<Intervention> parse(const std::vector<std::string>& texts) {
    std::vector<Intervention> interventions;
    interventions.reserve(texts.size());
    for (const std::string& text : texts) interventions.push_back(parse_intervention(text));
    return interventions;
  }

 private:
  TemporaryFolder folder_;
  fs::path text_ = folder_.path() / "book.txt";
};

TEST_F(ProbeTest, ShufflesTheTokensThatTheCorpusHas) {
  const LoadedModel model = load();
  const Corpus bos = corpus(model, {"bos=force"});
  ProbeOptions options;
  options.shuffle = true;
  options.seed = 5;
  options.interventions = parse({"bos=force", "rope=none"});
  const ScoreMap map = probe(model, bos, options);
  const ModelSpec spec = poslens::apply(model.spec, options.interventions);
  const ScoreMap expected =
      run_decoder(*model.checkpoint, spec, shuffle_within(bos.batch, 5, true), options.decoder);
  EXPECT_EQ(map.layer(2)(11, 4), expected.layer(2)(11, 4));
  EXPECT_NE(map.layer(2)(11, 4),
            run_decoder(*model.checkpoint, spec, bos.batch, options.decoder).layer(2)(11, 4));
  EXPECT_EQ(map.provenance.text_fingerprint, bos.fingerprint);
  EXPECT_THAT(map.provenance.options,
              testing::Contains(std::pair<std::string, std::string>{"shuffle", "within"}));
}

TEST_F(ProbeTest, ABosThatTheCorpusLacksIsRefused) {
  const LoadedModel model = load();
  ProbeOptions options;
  options.interventions = parse({"bos=force"});
  EXPECT_THROW(probe(model, corpus(model), options), Error);
  EXPECT_NO_THROW(probe(model, corpus(model, {"bos=force"}), options));
  options.interventions = parse({"bos=none"});
  EXPECT_THROW(probe(model, corpus(model, {"bos=force"}), options), Error);
  // Read with BOS and left so: no intervention of the run contradicts it.
  options.interventions.clear();
  EXPECT_NO_THROW(probe(model, corpus(model, {"bos=force"}), options));
}

TEST_F(ProbeTest, AModelWithoutTokenizerSaysWhy) {
  const LoadedModel model = load("dream");
  EXPECT_EQ(model.tokenizer, nullptr);
  EXPECT_THAT(model.why_no_tokenizer, HasSubstr("dream"));
  try {
    corpus(model);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), model.why_no_tokenizer);
  }
}

}  // namespace
}  // namespace poslens
