// tokenizer.json files that are damaged, hostile or of another kind; the BOS policy; folders.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "poslens/error.h"
#include "poslens/tokenizer.h"
#include "support/safetensors_writer.h"
#include "support/temporary_folder.h"
#include "tokenizer/regex.h"

namespace poslens {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kSound = R"({
  "added_tokens": [{"id": 3, "content": "<s>", "single_word": false, "lstrip": false,
                    "rstrip": false, "normalized": false, "special": true}],
  "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "_"},
  "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "_?\\w+"}, "behavior": "Isolated",
                    "invert": false},
  "post_processor": {"type": "TemplateProcessing",
                     "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                                {"Sequence": {"id": "A", "type_id": 0}}],
                     "special_tokens": {"<s>": {"id": "<s>", "ids": [3], "tokens": ["<s>"]}}},
  "decoder": {"type": "Fuse"},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}})";

std::unique_ptr<Tokenizer> read(const Json& json, const std::string& config = "") {
  return Tokenizer::from_json(json.dump(), config, "folder/tokenizer.json");
}

std::string message(const std::string& json, const std::string& config = "") {
  try {
    Tokenizer::from_json(json, config, "folder/tokenizer.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// With the value at a JSON pointer replaced; "null" takes it away.
std::string with(const std::string& place, const std::string& value) {
  Json json = Json::parse(kSound);
  json[Json::json_pointer(place)] = Json::parse(value);
  return json.dump();
}

TEST(JsonTokenizerFile, ASoundOneIsRead) {
  const auto tokenizer = read(Json::parse(kSound));
  EXPECT_EQ(tokenizer->encode("b<s>a"), (std::vector<std::int32_t>{1, 3, 0}));
  EXPECT_EQ(tokenizer->encode("abba<s>", SpecialTokens::as_text),
            (std::vector<std::int32_t>{2, 1, 0}));
  EXPECT_EQ(tokenizer->vocabulary_size(), 4);
  EXPECT_EQ(tokenizer->decode({3, 2}), "<s>ab");
  EXPECT_THROW(tokenizer->decode({4}), Error);
  EXPECT_EQ(tokenizer->pre_tokenizer(), "Split (normalizer Replace)");
}

TEST(JsonTokenizerFile, EachFaultIsNamed) {
  struct Case {
    const char* place;
    const char* value;
    const char* expected;
  };
  const Case cases[] = {
      {"/model", "null", "model: expected an object"},
      {"/model/type", R"("Unigram")", "model.type: expected BPE, found Unigram"},
      {"/model/dropout", "0.1", "model.dropout: expected none, found 0.1"},
      {"/model/end_of_word_suffix", R"("</w>")", "model.end_of_word_suffix: expected none"},
      {"/model/continuing_subword_prefix", R"("##")", "model.continuing_subword_prefix"},
      {"/model/unk_token", R"("<unk>")", "model.unk_token: expected a token of the vocabulary"},
      {"/model/vocab", "[]", "model.vocab: expected an object"},
      {"/model/vocab/a", "1", "an id of its own, found 1"},
      {"/model/vocab/a", "-1", "token \"a\": expected an id of 0 to"},
      {"/model/vocab/a", "0.5", "token \"a\": expected an id of 0 to"},
      {"/model/vocab/a", "4000000000", "token \"a\": expected an id of 0 to 4104"},
      {"/model/vocab/a", R"("0")", "found string"},
      {"/model/merges", "null", "model.merges: expected a list"},
      {"/model/merges/1", R"(["a", "b"])", "model.merges[1]: expected each merge once"},
      {"/model/merges/1", R"("a b")", "model.merges[1]: expected each merge once"},
      {"/model/merges/1", R"(["b", "a"])",
       "model.merges[1]: expected two tokens that make a third"},
      {"/model/merges/1", R"(["a", "c"])",
       "model.merges[1]: expected two tokens that make a third"},
      {"/model/merges/1", R"(["", "a"])", "model.merges[1]: expected two tokens"},
      {"/model/merges/1", R"(["a", "b", "a"])", "model.merges[1]: expected two tokens"},
      {"/model/merges/1", R"("ab")", "model.merges[1]: expected two tokens"},
      {"/model/merges/1", R"("a b a")", "model.merges[1]: expected two tokens"},
      {"/model/merges/1", "7", "model.merges[1]: expected two tokens"},
      {"/added_tokens/0/id", "2",
       "added_tokens[0].id: expected 3, which tokenizers gives to \"<s>\", found 2"},
      {"/added_tokens/0/id", "4", "added_tokens[0].id: expected 3"},
      {"/added_tokens/0/id", "99999", "added_tokens[0].id: expected 0 to 4104"},
      {"/added_tokens/0/content", R"("a")", "added_tokens[0].id: expected 0, which"},
      {"/added_tokens/0/special", "null", "added_tokens[0].special: expected a boolean"},
      {"/added_tokens/1", "3", "added_tokens[1]: expected an object"},
      {"/normalizer/type", R"("Precompiled")", "normalizer.type: expected Sequence, NFC"},
      {"/normalizer/pattern", R"({"String": ""})", "normalizer.pattern.String"},
      {"/normalizer/pattern", R"({"Regex": "("})", "normalizer.pattern.Regex"},
      {"/pre_tokenizer/type", R"("UnicodeScripts")", "pre_tokenizer.type: expected Sequence"},
      {"/pre_tokenizer/behavior", R"("Kept")", "pre_tokenizer.behavior: expected Removed"},
      {"/pre_tokenizer/pattern", R"({"Regex": "\\bx"})", "an unknown escape at byte 1"},
      {"/pre_tokenizer/pattern", R"({"Regex": "x*"})", "matches the empty text"},
      {"/pre_tokenizer", R"({"type": "Metaspace", "replacement": "ab"})", "expected one character"},
      {"/pre_tokenizer", R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "last"})",
       "pre_tokenizer.prepend_scheme"},
      {"/pre_tokenizer", R"({"type": "Sequence", "pretokenizers": [{"type": "Nothing"}]})",
       "pre_tokenizer.pretokenizers[0].type"},
      {"/post_processor/type", R"("RobertaProcessing")", "post_processor.type"},
      {"/post_processor/single/1", R"({"SpecialToken": {"id": "<s>"}})", "one special token on"},
      {"/post_processor/special_tokens", R"({"<s>": {"ids": [9]}})", "the id of a token, found 9"},
      {"/post_processor/special_tokens", R"({"<s>": {"ids": [3, 3]}})", "expected one id, found 2"},
      {"/decoder/type", R"("CTC")", "decoder.type"},
  };
  for (const Case& bad : cases) {
    EXPECT_THAT(message(with(bad.place, bad.value)),
                AllOf(HasSubstr("folder/tokenizer.json: "), HasSubstr(bad.expected)))
        << bad.place << " " << bad.value;
  }
}

TEST(JsonTokenizerFile, WhatIsNoJsonIsRefused) {
  for (const std::string bad :
       {"", "{", "[]", "7", R"({"model": {"vocab": {"a": 0, "a": 1}}})", "{\"model\": \"\xff\"}"}) {
    EXPECT_THAT(message(bad), HasSubstr("folder/tokenizer.json")) << bad;
  }
  std::string deep = R"({"normalizer": )";
  for (int i = 0; i < 10000; ++i) deep += R"({"type": "Sequence", "normalizers": [)";
  EXPECT_THAT(message(deep), HasSubstr("nested at most 64 deep"));
  const std::string sound = kSound;
  for (std::size_t end = 0; end < sound.size(); end += 7) {
    EXPECT_NE(message(sound.substr(0, end)), "no error") << end;
  }
}

// Forty steps that double the text would need a terabyte.
TEST(JsonTokenizerFile, NormalizersThatBlowTextsUpAreStopped) {
  Json json = Json::parse(kSound);
  const Json step =
      Json::parse(R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"})");
  json["normalizer"] = {{"type", "Sequence"}, {"normalizers", std::vector<Json>(40, step)}};
  const auto tokenizer = read(json);
  EXPECT_TRUE(tokenizer->encode("b").size() == 1);
  EXPECT_THROW(tokenizer->encode("a"), Error);
}

TEST(JsonTokenizerFile, PatternsThatNeverEndAreStopped) {
  Json json = Json::parse(kSound);
  json["pre_tokenizer"]["pattern"]["Regex"] = "(?:a|aa)+[bc]";
  const auto tokenizer = read(json);
  EXPECT_THROW(tokenizer->encode(std::string(400, 'a')), Error);
}

TEST(Regex, WhatOnigurumaReadsDifferentlyIsWrittenOutOrRefused) {
  EXPECT_EQ(translate_regex("a{,3}b{2}c{1,}d{x}e{}"), "a{0,3}b{2}c{1,}d\\{x}e\\{}");
  EXPECT_EQ(translate_regex("\\v\\x41\\u00e9\\x{1f600}\\."),
            "\\x{b}\\x{41}\\x{e9}\\x{1f600}\\x{2e}");
  EXPECT_EQ(translate_regex("(x)(?:y)(?i:z)"), "(?:x)(?:y)(?i:z)");
  EXPECT_EQ(translate_regex("[a-c[x]\\d-]"), "[\\x{61}-\\x{63}\\x{78}\\p{Nd}\\x{2d}]");
  EXPECT_EQ(translate_regex("\\p{Han}\\P{L}\\p{^Lu}"), "[\\p{sc:Han}][\\P{L}][\\P{Lu}]");
  for (const char* bad :
       {"\\b",    "\\1",   "\\k<x>", "(?<n>x)", "(?m:x)",  "(?#x)", "[[:alpha:]]", "[a&&b]",
        "[",      "[]",    "[a",     "[b-a]",   "[a-\\s]", "\\",    "\\x{110000}", "\\x{}",
        "\\u00e", "\\p{L", "\\pL",   "\\h",     "\\R",     "\\X",   "\\G",         "x{1}+"}) {
    EXPECT_THROW(translate_regex(bad), Error) << bad;
  }
  EXPECT_THROW(translate_regex(std::string(20000, 'x')), Error);
  EXPECT_THROW(translate_regex(std::string(100, '[')), Error);
  for (const char* bad : {"(", "x**", "(?<=a+)b", "\\p{Klingon}", "a|"}) {
    EXPECT_THROW(Regex{bad}, Error) << bad;
  }
}

TEST(BosRule, TheConfigRulesWhereItSaysSo) {
  const Json sound = Json::parse(kSound);
  EXPECT_TRUE(read(sound)->adds_bos());
  EXPECT_EQ(read(sound)->bos(), 3);
  const auto other = read(sound, R"({"bos_token": "ab", "eos_token": {"content": "b"}})");
  EXPECT_TRUE(other->adds_bos());
  EXPECT_EQ(other->bos(), 3) << "the post-processor's goes in front";
  EXPECT_EQ(other->bos_rule().eos, 1);
  EXPECT_EQ(other->bos_rule().source, "tokenizer.json, post_processor");
  const auto off = read(sound, R"({"bos_token": "<s>", "add_bos_token": false})");
  EXPECT_FALSE(off->adds_bos());
  EXPECT_EQ(off->bos(), 3);
  EXPECT_EQ(off->bos_rule().source,
            "tokenizer_config.json, add_bos_token; the post_processor of tokenizer.json adds one");
  for (const char* nameless : {R"({"add_bos_token": true})", R"({"add_eos_token": false})"}) {
    EXPECT_TRUE(read(sound, nameless)->adds_bos()) << nameless;
    EXPECT_EQ(read(sound, nameless)->bos(), 3) << nameless;
  }
  Json plain = sound;
  plain.erase("post_processor");
  EXPECT_FALSE(read(plain)->adds_bos());
  EXPECT_FALSE(read(plain)->bos());
  const auto on = read(plain, R"({"bos_token": {"content": "<s>"}, "add_bos_token": true,
                                  "eos_token": "b", "add_eos_token": true})");
  EXPECT_TRUE(on->adds_bos());
  EXPECT_EQ(on->bos(), 3);
  EXPECT_TRUE(on->bos_rule().adds_eos);
  EXPECT_EQ(on->bos_rule().source,
            "tokenizer_config.json, add_bos_token; the post_processor of tokenizer.json adds none");
  EXPECT_FALSE(read(plain, R"({"bos_token": null, "add_bos_token": true})")->adds_bos());
  EXPECT_THAT(message(kSound, R"({"bos_token": "<bos>"})"),
              HasSubstr("folder/tokenizer_config.json: bos_token: expected a token of"));
  EXPECT_THAT(message(kSound, R"({"bos_token": 1})"), HasSubstr("bos_token: expected an object"));
  EXPECT_THAT(message(kSound, "{"), HasSubstr("tokenizer_config.json"));
}

TEST(TokenizerFolder, FilesAreFoundBesideTheWeights) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "config.json") << "{}";
  SafetensorsWriter writer;
  const float value = 0;
  writer.tensor("x", {1}, {&value, 1});
  writer.write((folder.path() / "model.safetensors").string());
  const auto checkpoint = Checkpoint::open(folder.path());
  try {
    Tokenizer::open(*checkpoint);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("expected tokenizer.json, found none"));
  }
  std::ofstream(folder.path() / "tokenizer.json") << kSound;
  EXPECT_TRUE(Tokenizer::open(*checkpoint)->adds_bos());
  std::ofstream(folder.path() / "tokenizer_config.json") << R"({"add_bos_token": false})";
  EXPECT_FALSE(Tokenizer::open(*checkpoint)->adds_bos());
}

}  // namespace
}  // namespace poslens
