// config.json: types are checked when a key is read, and messages say where.

#include "poslens/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "poslens/error.h"

namespace poslens {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename Function>
std::string message(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Config parse(const std::string& text) { return Config::parse(text, "c.json"); }

TEST(Config, GettersGiveWhatIsThere) {
  const Config config = parse(R"({"layers": 30, "hidden": 576.0, "theta": 10000, "eps": 1e-5,
      "tied": true, "type": "llama", "steps": [1, 0, 1], "factors": [1, 2.5],
      "names": ["full", "sliding"], "below": -3, "vast": 4611686018427387904})");
  EXPECT_EQ(config.integer("layers"), 30);
  EXPECT_EQ(config.integer("hidden"), 576);
  EXPECT_EQ(config.integer("below"), -3);
  EXPECT_EQ(config.integer("vast"), std::int64_t{1} << 62);
  EXPECT_EQ(config.number("theta"), 10000.0);
  EXPECT_EQ(config.number("eps"), 1e-5);
  EXPECT_TRUE(config.boolean("tied"));
  EXPECT_EQ(config.text("type"), "llama");
  EXPECT_THAT(config.integers("steps"), ElementsAre(1, 0, 1));
  EXPECT_THAT(config.numbers("factors"), ElementsAre(1, 2.5));
  EXPECT_THAT(config.texts("names"), ElementsAre("full", "sliding"));
}

TEST(Config, NullCountsAsAbsentAndCanBeToldFromIt) {
  const Config config = parse(R"({"window": null, "heads": 4})");
  EXPECT_FALSE(config.has("window"));
  EXPECT_TRUE(config.is_null("window"));
  EXPECT_FALSE(config.has("absent"));
  EXPECT_FALSE(config.is_null("absent"));
  EXPECT_FALSE(config.is_null("heads"));
  EXPECT_EQ(config.integer_or("window", 7), 7);
  EXPECT_EQ(config.integer_or("heads", 7), 4);
  EXPECT_EQ(config.number_or("absent", 0.5), 0.5);
  EXPECT_TRUE(config.boolean_or("absent", true));
  EXPECT_EQ(config.text_or("absent", "x"), "x");
  EXPECT_FALSE(config.object_if("window"));
  EXPECT_THAT(config.keys(), ElementsAre("heads", "window"));
  EXPECT_EQ(message([&] { config.integer("window"); }),
            "c.json: window: expected an integer, found null");
  EXPECT_EQ(message([&] { config.text("absent"); }),
            "c.json: absent: expected a text, found no such key");
}

TEST(Config, NestedObjectsSayWhereTheyAre) {
  const Config config =
      parse(R"({"rope_parameters": {"full_attention": {"factor": "8", "theta": 1e6}}})");
  // The inner object lives on when the outer one is gone.
  const Config inner = [&] {
    return parse(R"({"a": {"b": {"factor": "8"}}})").object("a").object("b");
  }();
  EXPECT_EQ(message([&] { inner.number("factor"); }),
            "c.json: a.b.factor: expected a number, found a text");
  const auto rope = config.object_if("rope_parameters");
  ASSERT_TRUE(rope);
  EXPECT_EQ(rope->object("full_attention").number("theta"), 1e6);
  EXPECT_EQ(message([&] { rope->object("sliding_attention"); }),
            "c.json: rope_parameters.sliding_attention: expected an object, found no such key");
  EXPECT_EQ(message([&] { rope->fail("x", "y", "z"); }),
            "c.json: rope_parameters.x: expected y, found z");
}

TEST(Config, AnotherTypeIsAnErrorEvenWhereTheKeyMayBeAbsent) {
  const Config config = parse(R"({"text": "3", "half": 0.5, "vast": 18446744073709551615,
      "far": 1e300, "flag": 1, "mixed": [1, "2"], "list": [1], "object": {}})");
  for (const char* key : {"text", "half", "vast", "far", "list", "object"}) {
    EXPECT_THAT(message([&] { config.integer_or(key, 1); }),
                HasSubstr(std::string(key) + ": expected an integer, found "));
  }
  EXPECT_THAT(message([&] { config.integer("half"); }), HasSubstr("found the number 0.5"));
  EXPECT_THAT(message([&] { config.boolean_or("flag", true); }),
              HasSubstr("expected a boolean, found the number 1"));
  EXPECT_THAT(message([&] { config.text_or("half", ""); }), HasSubstr("expected a text"));
  EXPECT_THAT(message([&] { config.number_or("text", 1); }), HasSubstr("found a text"));
  EXPECT_THAT(message([&] { config.object_if("list"); }),
              HasSubstr("expected an object, found a list"));
  EXPECT_EQ(message([&] { config.integers("mixed"); }),
            "c.json: mixed[1]: expected an integer, found a text");
  EXPECT_EQ(message([&] { config.numbers("half"); }),
            "c.json: half: expected a list, each element a number, found the number 0.5");
}

TEST(Config, WhatIsNoObjectOfDistinctKeysIsRefused) {
  EXPECT_EQ(message([] { parse("[1]"); }), "c.json: expected an object, found a list");
  EXPECT_THAT(message([] { parse(""); }), HasSubstr("c.json: expected JSON, found parse error"));
  EXPECT_THAT(message([] { parse(R"({"a": 1)"); }), HasSubstr("expected JSON"));
  EXPECT_THAT(message([] { parse("{\"a\": \"\xff\"}"); }), HasSubstr("expected JSON"));
  EXPECT_THAT(message([] { parse(R"({"a": 1e999})"); }), HasSubstr("expected JSON"));
  EXPECT_THAT(message([] { parse(R"({"a": NaN})"); }), HasSubstr("expected JSON"));
  EXPECT_EQ(message([] { parse(R"({"a": {"k": 1, "k": 1}})"); }),
            "c.json: key 'k': expected each key once, found it twice");
  EXPECT_EQ(message([] { parse(R"({"a": {"k": 1}, "k": [{"k": 2}, {"k": 3}]})"); }), "no error");
}

TEST(Config, DeepNestingIsRefused) {
  const auto nested = [](int depth) {
    return R"({"a":)" + std::string(depth, '[') + std::string(depth, ']') + '}';
  };
  EXPECT_EQ(message([&] { parse(nested(60)); }), "no error");
  EXPECT_EQ(message([&] { parse(nested(1'000'000)); }),
            "c.json: expected JSON nested at most 64 deep, found more");
}

}  // namespace
}  // namespace poslens
