#include "poslens/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "poslens/error.h"
#include "probe/fake_tokenizer.h"
#include "support/temporary_folder.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

constexpr std::int32_t kBos = FakeTokenizer::kBos;

// Digits are tokens of their own in these tests: "012" is 1048, 1049, 1050.
Ids digits(std::string_view text) {
  Ids ids;
  for (const char digit : text) ids.push_back(1000 + digit);
  return ids;
}

class CorpusTest : public testing::Test {
 protected:
  fs::path file(const std::string& name, std::string_view content) {
    fs::path path = folder_.path() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  const fs::path& root() const { return folder_.path(); }

  static CorpusOptions text(fs::path path, std::int64_t length, std::int64_t sequences) {
    CorpusOptions options;
    options.text = std::move(path);
    options.length = length;
    options.sequences = sequences;
    return options;
  }
  static CorpusOptions tokens(fs::path path, std::int64_t length, std::int64_t sequences) {
    CorpusOptions options = text({}, length, sequences);
    options.tokens = std::move(path);
    return options;
  }
  static Corpus read(const CorpusOptions& options,
                     const FakeTokenizer& tokenizer = FakeTokenizer()) {
    return read_corpus(options, &tokenizer, FakeTokenizer::kVocabulary);
  }
  static std::string refusal(const CorpusOptions& options,
                             const FakeTokenizer& tokenizer = FakeTokenizer()) {
    try {
      read(options, tokenizer);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(CorpusTest, ASingleTextIsCutIntoWindows) {
  const Corpus corpus = read(text(file("a.txt", "0123456789"), 3, 3));
  EXPECT_EQ(corpus.batch.length, 3);
  EXPECT_EQ(corpus.batch.sequences(), 3);
  EXPECT_EQ(corpus.batch.ids, digits("012345678"));
  EXPECT_EQ(corpus.documents_used, 1);
  EXPECT_EQ(corpus.documents_skipped, 0);
  EXPECT_EQ(corpus.cut, Cut::windows);
  EXPECT_EQ(corpus.source, (root() / "a.txt").string());
}

TEST_F(CorpusTest, OnlyAsManySequencesAsWanted) {
  EXPECT_EQ(read(text(file("a.txt", "0123456789"), 3, 2)).batch.ids, digits("012345"));
}

TEST_F(CorpusTest, CutStartTakesTheFirstTokensOfATextAlone) {
  CorpusOptions options = text(file("a.txt", "0123456789"), 3, 1);
  options.cut = Cut::start;
  EXPECT_EQ(read(options).batch.ids, digits("012"));
  options.sequences = 2;
  EXPECT_THAT(refusal(options), HasSubstr("a.txt: expected 2 sequences of 3 tokens, found 1; "
                                          "documents long enough: 1, too short: 0"));
}

TEST_F(CorpusTest, AFolderGivesTheStartOfEachDocumentInTheOrderOfPaths) {
  file("c/b.txt", "333");
  file("c/a.txt", "22");  // too short
  file("b.jsonl", "{\"text\": \"111\"}\n{\"text\": \"1\"}\n{\"text\": \"2222\"}");
  file("a.rst.txt", "0000");
  file("a.rst", "999");
  file("empty.txt", "");
  const Corpus corpus = read(text(root(), 3, 4));
  EXPECT_EQ(corpus.batch.ids, digits("000111222333"));
  EXPECT_EQ(corpus.cut, Cut::start);
  EXPECT_EQ(corpus.documents_used, 4);
  EXPECT_EQ(corpus.documents_skipped, 2);
  EXPECT_THAT(
      refusal(text(root(), 3, 5)),
      HasSubstr(": expected 5 sequences of 3 tokens, found 4; documents long enough: 4, too "
                "short: 3"));
}

TEST_F(CorpusTest, AFolderCanGiveWindows) {
  file("a.txt", "0000111");
  file("b.txt", "222233");
  CorpusOptions options = text(root(), 2, 6);
  options.cut = Cut::windows;
  EXPECT_EQ(read(options).batch.ids, digits("000011222233"));
}

TEST_F(CorpusTest, JsonLines) {
  const fs::path path =
      file("a.jsonl",
           "{\"id\": 7, \"text\": \"01\\u0032\"}\r\n\n  \r\n{\"text\": \"3\\n4\", \"x\": [1]}\n");
  EXPECT_EQ(read(text(path, 3, 2)).batch.ids, (Ids{1048, 1049, 1050, 1051, 1010, 1052}));
}

TEST_F(CorpusTest, BadTextsAreNamedByFileAndLine) {
  EXPECT_THAT(refusal(text(root() / "none.txt", 3, 1)), HasSubstr("none.txt: no such file"));
  EXPECT_THAT(refusal(text(file("a.pdf", "000"), 3, 1)),
              HasSubstr("a.pdf: expected a .txt file, a .jsonl file or a folder of them"));
  EXPECT_THAT(refusal(text(file("a.txt", "0\xff"), 2, 1)), HasSubstr("a.txt: byte 1 is no UTF-8"));
  EXPECT_THAT(
      refusal(text(file("a.jsonl", "{\"text\": \"000\"}\n\n{\"text\": \"00\xc3\"}\n"), 3, 2)),
      HasSubstr("a.jsonl: line 3: expected a JSON object in UTF-8"));
  EXPECT_THAT(refusal(text(file("b.jsonl", "{\"text\": \"000\"\n"), 3, 1)),
              HasSubstr("b.jsonl: line 1: expected a JSON object in UTF-8"));
  for (const char* line : {"{\"body\": \"000\"}", "{\"text\": 5}", "[\"000\"]", "\"000\"", "3"}) {
    EXPECT_THAT(refusal(text(file("c.jsonl", line), 3, 1)),
                HasSubstr("c.jsonl: line 1: expected a JSON object with a string under the key"));
  }
  EXPECT_THAT(refusal(text(file("d.jsonl", "{\"text\": \"0\\u00e9\"}"), 2, 1)),
              HasSubstr("d.jsonl: line 1: byte 1 is no UTF-8"));
  fs::create_directory(root() / "empty");
  EXPECT_THAT(refusal(text(root() / "empty", 3, 1)),
              HasSubstr("empty: expected .txt or .jsonl files in the folder, found none"));
}

TEST_F(CorpusTest, ATextNeedsATokenizerThatFitsTheModel) {
  const CorpusOptions options = text(file("a.txt", "000"), 3, 1);
  EXPECT_THROW(read_corpus(options, nullptr, FakeTokenizer::kVocabulary), Error);
  const FakeTokenizer tokenizer;
  EXPECT_THROW(read_corpus(options, &tokenizer, 1048), Error);
  EXPECT_NO_THROW(read_corpus(options, &tokenizer, 1049));
}

// Lines of words of changing length: a word cut in two would get other ids.
std::string prose(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) {
    for (int j = 0; j < 8; ++j)
      text += std::string(1 + (i * 7 + j * 5) % 11, 'a' + (i + j) % 26) + ' ';
    text.back() = '\n';
  }
  return text;
}

TEST_F(CorpusTest, ALongTextIsReadOnlyAsFarAsNeeded) {
  const std::string content = prose(20000);
  const FakeTokenizer tokenizer;
  const Corpus corpus = read(text(file("a.txt", content), 64, 40), tokenizer);
  EXPECT_LT(tokenizer.bytes_seen, content.size() / 10);
  Ids expected = FakeTokenizer().encode(content);
  expected.resize(64 * 40);
  EXPECT_EQ(corpus.batch.ids, expected);
}

// Words so long that the part which is read ends close to the last token wanted, or inside of it.
TEST_F(CorpusTest, WhereReadingStopsDoesNotShow) {
  for (std::size_t letters = 100; letters < 160; ++letters) {
    std::string content;
    for (int i = 0; i < 200; ++i) content += std::string(letters, 'a') + '\n';
    Ids expected = FakeTokenizer().encode(content);
    expected.resize(65);  // a word
    EXPECT_EQ(read(text(file("a.txt", content), 65, 1)).batch.ids, expected) << letters;
  }
}

TEST_F(CorpusTest, ALongTextInOneLineIsReadWhole) {
  std::string content = prose(5000);
  std::replace(content.begin(), content.end(), '\n', ' ');
  Ids expected = FakeTokenizer().encode(content);
  expected.resize(128);
  EXPECT_EQ(read(text(file("a.txt", content), 64, 2)).batch.ids, expected);
}

TEST_F(CorpusTest, DocumentsBehindTheLastThatIsNeededAreNotRead) {
  file("a.txt", "000");
  file("b.txt", "\xff");
  EXPECT_EQ(read(text(root(), 3, 1)).batch.ids, digits("000"));
  EXPECT_THAT(refusal(text(root(), 3, 2)), HasSubstr("b.txt: byte 0 is no UTF-8"));
}

TEST_F(CorpusTest, BosTakesAPlaceInEverySequence) {
  CorpusOptions options = text(file("a.txt", "012345"), 3, 3);
  const Corpus corpus = read(options, FakeTokenizer(true));
  EXPECT_EQ(corpus.batch.ids, (Ids{kBos, 1048, 1049, kBos, 1050, 1051, kBos, 1052, 1053}));
  EXPECT_TRUE(corpus.starts_with_bos);
  EXPECT_EQ(corpus.bos_policy, "the file adds BOS; token 1299 in front of every sequence");

  options.bos = BosPolicy::force;
  EXPECT_EQ(read(options).batch.ids, corpus.batch.ids);
  EXPECT_EQ(read(options).bos_policy,
            "the file adds no BOS; token 1299 in front of every sequence (bos=force)");

  options.bos = BosPolicy::none;
  options.sequences = 2;
  const Corpus without = read(options, FakeTokenizer(true));
  EXPECT_EQ(without.batch.ids, digits("012345"));
  EXPECT_FALSE(without.starts_with_bos);
  EXPECT_EQ(without.bos_policy, "the file adds BOS; none in front of the sequences (bos=none)");
  EXPECT_EQ(read(text(options.text, 3, 2)).bos_policy,
            "the file adds no BOS; none in front of the sequences");

  options.bos = BosPolicy::force;
  EXPECT_THAT(refusal(options, FakeTokenizer(false, std::nullopt)),
              HasSubstr("a.txt: a BOS token is asked for, and the model's tokenizer names none"));
}

// A byte of 0x01 is BOS to this tokenizer, as a special token that is written out is.
class SpelledBos : public FakeTokenizer {
 public:
  using FakeTokenizer::FakeTokenizer;
  Ids encode(std::string_view text, SpecialTokens special) const override {
    Ids ids = FakeTokenizer::encode(text, special);
    std::replace(ids.begin(), ids.end(), 1001, kBos);
    return ids;
  }
};

TEST_F(CorpusTest, NoSequenceStartsWithASecondBos) {
  const SpelledBos adds(true);
  const SpelledBos adds_none(false);
  CorpusOptions options = text(file("a.txt",
                                    "\x01\x01"
                                    "0123\x01"
                                    "45\x01\x01"
                                    "67"),
                               3, 4);
  const Ids one_each = {kBos, 1048, 1049, kBos, 1050, 1051, kBos, 1052, 1053, kBos, 1054, 1055};
  EXPECT_EQ(read(options, adds).batch.ids, one_each);
  options.bos = BosPolicy::force;
  EXPECT_EQ(read(options, adds).batch.ids, one_each);
  EXPECT_EQ(read(options, adds_none).batch.ids, one_each);
  options.bos = BosPolicy::none;
  options.sequences = 2;
  for (const SpelledBos& tokenizer : {adds, adds_none}) {
    const Corpus corpus = read(options, tokenizer);
    EXPECT_EQ(corpus.batch.ids, (Ids{1048, 1049, 1050, 1051, kBos, 1052}));
    EXPECT_FALSE(corpus.starts_with_bos);
  }
  // A file that adds none has what the text says.
  options.bos = BosPolicy::file;
  EXPECT_EQ(read(options, adds_none).batch.ids, (Ids{kBos, kBos, 1048, 1049, 1050, 1051}));
}

// As many tokens go as there are BOS in front of windows: reading must go on for them.
TEST_F(CorpusTest, ATextFullOfBosIsReadFarEnough) {
  std::string content;
  for (int i = 0; i < 3000; ++i) content.append(60, '\x01').append("1\na");
  const Corpus corpus = read(text(file("a.txt", content), 4, 2000), SpelledBos(true));
  Ids expected;
  for (int i = 0; i < 2000; ++i) expected.insert(expected.end(), {kBos, 1049, 1010, 'a'});
  EXPECT_EQ(corpus.batch.ids, expected);
}

TEST_F(CorpusTest, TokenRowsAreTakenLikeDocuments) {
  const fs::path path =
      file("t.json", R"({"x": 1, "tokens": [[1, 2, 3, 4, 5], [6, 7], [8, 9, 10]]})");
  const Corpus corpus = read_corpus(tokens(path, 3, 2), nullptr, 11);
  EXPECT_EQ(corpus.batch.ids, (Ids{1, 2, 3, 8, 9, 10}));
  EXPECT_EQ(corpus.documents_used, 2);
  EXPECT_EQ(corpus.documents_skipped, 1);
  EXPECT_EQ(corpus.bos_policy, "tokenizer unknown; ids as given");
  CorpusOptions windows = tokens(path, 2, 4);
  windows.cut = Cut::windows;
  EXPECT_EQ(read(windows).batch.ids, (Ids{1, 2, 3, 4, 6, 7, 8, 9}));
}

TEST_F(CorpusTest, BosOfTokenRows) {
  CorpusOptions options = tokens(file("t.json", R"({"tokens": [[1299, 1, 2], [3, 4, 5]]})"), 2, 2);
  EXPECT_EQ(read(options, FakeTokenizer(true)).batch.ids, (Ids{kBos, 1, 3, 4}));
  EXPECT_FALSE(read(options).starts_with_bos);
  options.bos = BosPolicy::none;
  EXPECT_EQ(read(options).batch.ids, (Ids{1, 2, 3, 4}));
  options.bos = BosPolicy::force;
  EXPECT_EQ(read(options).batch.ids, (Ids{kBos, 1, kBos, 3}));
  EXPECT_TRUE(read(options).starts_with_bos);
  EXPECT_THROW(read_corpus(options, nullptr, FakeTokenizer::kVocabulary), Error);
}

TEST_F(CorpusTest, BadTokenFiles) {
  const auto with = [&](std::string_view content) {
    return refusal(tokens(file("t.json", content), 2, 1));
  };
  EXPECT_THAT(with("{\"tokens\": [[1, 2]"), HasSubstr("t.json: expected JSON; it breaks off"));
  EXPECT_THAT(with(""), HasSubstr("t.json: expected JSON"));
  for (const char* content : {"[[1, 2]]", "{}", "{\"tokens\": 3}"}) {
    EXPECT_THAT(with(content), HasSubstr("t.json: expected {\"tokens\": [[...], ...]}"));
  }
  EXPECT_THAT(with("{\"tokens\": [7]}"), HasSubstr("t.json: row 0: expected a list of token ids"));
  const auto with_id = [&](const std::string& id) {
    return with("{\"tokens\": [[1], [2, " + id + "]]}");
  };
  EXPECT_EQ(with_id("1299"), "accepted");
  for (const std::string id : {"1300", "-1", "1.0", "1e3", "true", "null", "\"7\"", "4294967296",
                               "18446744073709551615", "99999999999999999999"}) {
    EXPECT_THAT(with_id(id),
                HasSubstr("t.json: row 1: token 1: expected an id of 0 to 1299, found"))
        << id;
  }
  EXPECT_THAT(with_id("1300"), HasSubstr("found 1300"));
  EXPECT_THAT(with("{\"tokens\": []}"),
              HasSubstr("t.json: expected 1 sequence of 2 tokens, found 0"));
  EXPECT_THAT(refusal(tokens(root() / "none.json", 2, 1)), HasSubstr("none.json: no such file"));
  EXPECT_THAT(refusal(tokens(root(), 2, 1)), HasSubstr("no such file, or it cannot be read"));
}

// FNV-1a of the ids as little-endian 32-bit integers, from a Python one-liner.
TEST_F(CorpusTest, FingerprintIsTheHashOfTheIds) {
  const fs::path path = file("t.json", R"({"tokens": [[104, 105], [106, 1000000]]})");
  EXPECT_EQ(read_corpus(tokens(path, 2, 2), nullptr, 1000001).fingerprint, "669d500dc13e8a9f");
}

TEST(CorpusOptions, OutOfRangeIsRefused) {
  CorpusOptions options;
  EXPECT_THROW(options.validate(), UsageError);  // neither
  options.text = "a.txt";
  EXPECT_NO_THROW(options.validate());
  options.tokens = "t.json";
  EXPECT_THROW(options.validate(), UsageError);  // both
  options.tokens.clear();
  for (const std::int64_t length : {-1, 0, 1, 2000000}) {
    options.length = length;
    EXPECT_THROW(options.validate(), UsageError) << length;
  }
  options.length = 2;
  for (const std::int64_t sequences : {-1, 0}) {
    options.sequences = sequences;
    EXPECT_THROW(options.validate(), UsageError) << sequences;
  }
  for (const char* cut : {"", "end", "Start"}) EXPECT_THROW(parse_cut(cut), UsageError);
  for (const Cut cut : {Cut::automatic, Cut::start, Cut::windows}) {
    EXPECT_EQ(parse_cut(to_string(cut)), cut);
  }
}

TEST(ShuffleWithin, KeepsTheTokensOfEachSequenceAndTheFirstIfAsked) {
  TokenBatch batch{.length = 50, .ids = Ids(150)};
  for (int i = 0; i < 150; ++i) batch.ids[static_cast<std::size_t>(i)] = i;
  for (const bool keep_first : {false, true}) {
    TokenBatch shuffled = shuffle_within(batch, 3, keep_first);
    EXPECT_EQ(shuffled.length, 50);
    EXPECT_EQ(shuffled.ids, shuffle_within(batch, 3, keep_first).ids);
    EXPECT_NE(shuffled.ids, shuffle_within(batch, 4, keep_first).ids);
    EXPECT_NE(shuffled.ids[10] + 50, shuffled.ids[60]);  // an order of its own each
    if (keep_first) {
      EXPECT_THAT((Ids{shuffled.ids[0], shuffled.ids[50], shuffled.ids[100]}),
                  ElementsAre(0, 50, 100));
    }
    for (int s = 0; s < 3; ++s) {
      std::sort(shuffled.ids.begin() + s * 50, shuffled.ids.begin() + (s + 1) * 50);
    }
    EXPECT_EQ(shuffled.ids, batch.ids);
  }
}

// Each of the 24 orders of 4 tokens as often as the others.
TEST(ShuffleWithin, EveryOrderIsEquallyLikely) {
  constexpr int kDraws = 24000;
  TokenBatch batch{.length = 4, .ids = {}};
  for (int i = 0; i < kDraws; ++i) batch.ids.insert(batch.ids.end(), {0, 1, 2, 3});
  const TokenBatch shuffled = shuffle_within(batch, 1, false);
  std::map<Ids, int> counts;
  for (int i = 0; i < kDraws; ++i) {
    ++counts[Ids(shuffled.ids.begin() + 4 * i, shuffled.ids.begin() + 4 * i + 4)];
  }
  ASSERT_EQ(counts.size(), 24);
  double chi_squared = 0;
  for (const auto& [order, count] : counts) {
    chi_squared += (count - kDraws / 24.0) * (count - kDraws / 24.0) / (kDraws / 24.0);
  }
  EXPECT_LT(chi_squared, 49.7);  // 0.1 % point for 23 degrees of freedom
}

}  // namespace
}  // namespace poslens
