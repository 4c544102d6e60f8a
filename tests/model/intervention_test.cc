#include "poslens/intervention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/tiny_checkpoint.h"
#include "poslens/error.h"

namespace poslens {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

ModelSpec tiny_spec() {
  static const TinyCheckpoint checkpoint({.layers = 4});
  return read_model_spec(checkpoint);
}

ModelSpec changed(const std::vector<std::string>& texts) {
  std::vector<Intervention> interventions;
  interventions.reserve(texts.size());
  for (const std::string& text : texts) interventions.push_back(parse_intervention(text));
  return poslens::apply(tiny_spec(), interventions);
}

std::string refusal(const std::vector<std::string>& texts) {
  try {
    changed(texts);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Layers, ListsAndRanges) {
  EXPECT_THAT(parse_layers("0-3,7", "--layers"), ElementsAre(0, 1, 2, 3, 7));
  EXPECT_THAT(parse_layers("7,2,2,1-2", "--layers"), ElementsAre(1, 2, 7));
  EXPECT_THAT(parse_layers("5", "--layers"), ElementsAre(5));
  for (const char* text : {"", "3-1", "-1", "1-", "a", "1,,2", "1,", "0x1", "1 2", "99999999999",
                           "0-4000000000", "+1"}) {
    try {
      parse_layers(text, "--layers");
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("--layers " + std::string(text) + ": expected a list"));
    }
  }
}

TEST(Interventions, RopeOffInSomeLayers) {
  const ModelSpec spec = changed({"rope=none@1-2"});
  EXPECT_TRUE(spec.layers[0].attention.rotary);
  EXPECT_FALSE(spec.layers[1].attention.rotary);
  EXPECT_FALSE(spec.layers[2].attention.rotary);
  EXPECT_TRUE(spec.layers[3].attention.rotary);
}

TEST(Interventions, ChangeOnlyWhatTheyName) {
  const ModelSpec spec = changed({"rope=theta:1e6@0", "rope=none@3", "mask=window:128@2",
                                  "mask=full@0", "positions=+1000", "bos=force"});
  EXPECT_EQ(spec.layers[0].attention.rotary->theta, 1e6);
  EXPECT_EQ(spec.layers[1].attention.rotary, tiny_spec().layers[1].attention.rotary);
  EXPECT_EQ(spec.layers[2].attention.mask, Mask::parse("window:128"));
  EXPECT_EQ(spec.layers[0].attention.mask, Mask::parse("full"));
  EXPECT_EQ(spec.layers[1].attention.mask, Mask::parse("causal"));
  EXPECT_FALSE(spec.layers[3].attention.rotary);
  EXPECT_EQ(spec.first_position, 1000);
  EXPECT_EQ(spec.bos, BosPolicy::force);
  EXPECT_EQ(changed({"bos=none"}).bos, BosPolicy::none);
  EXPECT_EQ(changed({}).bos, BosPolicy::file);
}

TEST(Interventions, UnknownTextIsRefusedWithWhatIsAllowed) {
  for (const char* text : {"",
                           "rope",
                           "rope=",
                           "rope=off",
                           "rope=theta:",
                           "rope=theta:x",
                           "rope=theta:1",
                           "rope=theta:-5",
                           "rope=theta:inf",
                           "rope=theta:1e6x",
                           "rope=none@",
                           "rope=none@a",
                           "mask=",
                           "mask=causal:3",
                           "mask=window:0",
                           "mask=band:3",
                           "positions=5",
                           "positions=+0",
                           "positions=-3",
                           "positions=+1e3",
                           "positions=+99999999999",
                           "positions=+5@1",
                           "bos=",
                           "bos=auto",
                           "bos=none@0",
                           "alibi=none",
                           "Rope=none"}) {
    try {
      parse_intervention(text);
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("--intervene " + std::string(text) + ":"));
    }
  }
  EXPECT_THAT(refusal({"alibi=none"}), HasSubstr("rope=theta:X, mask=causal"));
}

TEST(Interventions, LayerOutOfRangeNamesLayerAndCount) {
  EXPECT_THAT(refusal({"rope=none@2-4"}), HasSubstr("layer 4: the model has 4 layers, 0 to 3"));
  EXPECT_THAT(refusal({"mask=strided:2"}), HasSubstr("for theory and simulate"));
  EXPECT_THAT(refusal({"mask=full@9"}), HasSubstr("layer 9: the model has 4 layers"));
}

TEST(Interventions, TheSameThingTwiceIsRefused) {
  EXPECT_THAT(refusal({"rope=none@0-1", "rope=theta:1e6@1"}),
              AllOf(HasSubstr("--intervene rope=theta:1e6@1"),
                    HasSubstr("rope=none@0-1 sets the rope of layer 1 already")));
  EXPECT_THAT(refusal({"rope=none@0", "position=none"}), HasSubstr("of layer 0 already"));
  EXPECT_THAT(refusal({"mask=full", "mask=causal@3"}), HasSubstr("the mask of layer 3 already"));
  EXPECT_THAT(refusal({"rope=none", "rope=none"}), HasSubstr("already"));
  EXPECT_THAT(refusal({"positions=+1", "positions=+2"}), HasSubstr("sets the positions already"));
  EXPECT_THAT(refusal({"bos=none", "bos=force"}), HasSubstr("sets the bos already"));
  EXPECT_EQ(refusal({"rope=none@0", "rope=none@1", "mask=full@0"}), "no error");
}

TEST(Interventions, WhatCannotMatterIsRefused) {
  EXPECT_THAT(refusal({"positions=+5", "rope=none"}), HasSubstr("positions change nothing"));
  EXPECT_EQ(refusal({"positions=+5", "rope=none@0-2"}), "no error");
  ModelSpec spec = tiny_spec();
  spec.layers[2].attention.rotary.reset();
  EXPECT_THROW(poslens::apply(spec, {parse_intervention("rope=none@1-2")}), UsageError);
  EXPECT_NO_THROW(poslens::apply(spec, {parse_intervention("rope=none@0-1,3")}));
  EXPECT_NO_THROW(poslens::apply(spec, {parse_intervention("rope=none")}));
  for (LayerSpec& layer : spec.layers) layer.attention.rotary.reset();
  EXPECT_THROW(poslens::apply(spec, {parse_intervention("rope=none")}), UsageError);
  EXPECT_THROW(poslens::apply(spec, {parse_intervention("rope=theta:5")}), UsageError);
  EXPECT_THROW(poslens::apply(spec, {parse_intervention("position=none")}), UsageError);
}

TEST(Interventions, PositionTakesAwayWhateverThereIs) {
  const Intervention none = parse_intervention("position=none");
  EXPECT_FALSE(poslens::apply(tiny_spec(), {none}).layers[3].attention.rotary);

  ModelSpec alibi = tiny_spec();
  for (LayerSpec& layer : alibi.layers) {
    layer.attention.rotary.reset();
    layer.attention.alibi = AlibiSpec{};
  }
  EXPECT_FALSE(poslens::apply(alibi, {none}).layers[3].attention.alibi);
  const ModelSpec some = poslens::apply(alibi, {parse_intervention("position=none@1")});
  EXPECT_FALSE(some.layers[1].attention.alibi);
  EXPECT_TRUE(some.layers[2].attention.alibi);
  EXPECT_THROW(poslens::apply(alibi, {parse_intervention("rope=none")}), UsageError);
  EXPECT_THROW(poslens::apply(alibi, {parse_intervention("positions=+3")}), UsageError);

  ModelSpec learned = tiny_spec();
  for (LayerSpec& layer : learned.layers) layer.attention.rotary.reset();
  learned.learned_positions = "wpe";
  EXPECT_EQ(poslens::apply(learned, {none}).learned_positions, "");
  EXPECT_EQ(poslens::apply(learned, {parse_intervention("positions=+3")}).first_position, 3);
  EXPECT_THROW(poslens::apply(learned, {parse_intervention("position=none@0")}), UsageError);
}

TEST(Interventions, InWords) {
  const ModelSpec spec = tiny_spec();
  const auto words = [&](const char* text) { return describe(parse_intervention(text), spec); };
  EXPECT_EQ(words("rope=none"), "RoPE off in all layers");
  EXPECT_EQ(words("rope=none@0-3"), "RoPE off in all layers");
  EXPECT_EQ(words("rope=none@1-2"), "RoPE off in layers 1-2 (counted from 0)");
  EXPECT_EQ(words("rope=theta:1e6@0"), "RoPE theta 1e+06 in layer 0 (counted from 0)");
  EXPECT_EQ(words("mask=full@0-1,3"),
            "mask: full, every token sees every other, in layers 0-1,3 (counted from 0)");
  EXPECT_EQ(words("mask=window:128@0"), "mask: window of 128 keys in layer 0 (counted from 0)");
  EXPECT_EQ(words("mask=prefix:6"),
            "mask: prefix of 6 tokens that see each other, causal after it, in all layers");
  EXPECT_EQ(words("mask=causal"), "mask: causal in all layers");
  EXPECT_EQ(words("positions=+1000"), "positions moved by +1000");
  EXPECT_EQ(words("bos=none"), "no BOS");
  EXPECT_EQ(words("bos=force"), "BOS in front of every sequence");
  EXPECT_EQ(words("position=none@2"), "RoPE off in layer 2 (counted from 0)");
  EXPECT_THROW(words("rope=none@4"), UsageError);
}

// position=none is named by what the model has.
TEST(Interventions, WhateverThereIsInWords) {
  ModelSpec spec = tiny_spec();
  const auto words = [&] { return describe(parse_intervention("position=none"), spec); };
  EXPECT_EQ(words(), "RoPE off in all layers");
  spec.layers[1].attention.rotary.reset();  // as smollm3 has it
  EXPECT_EQ(words(), "RoPE off in layers 0,2-3 (counted from 0)");
  spec.layers[1].attention.alibi = AlibiSpec{};
  EXPECT_EQ(words(),
            "RoPE off in layers 0,2-3 (counted from 0), ALiBi off in layer 1 (counted from 0)");
  for (LayerSpec& layer : spec.layers) {
    layer.attention.rotary.reset();
    layer.attention.alibi.reset();
  }
  spec.learned_positions = "wpe";
  EXPECT_EQ(words(), "learned positions off");
}

}  // namespace
}  // namespace poslens
