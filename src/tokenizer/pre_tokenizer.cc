#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "poslens/error.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/characters.h"
#include "tokenizer/pipeline.h"

namespace poslens {

namespace {

using Steps = std::vector<PreTokenizerStep>;

PreTokenizerStep split_step(Cutter cutter, Behaviour behaviour, bool invert = false) {
  return [cutter = std::move(cutter), behaviour, invert](Pieces& pieces) {
    split_pieces(pieces, cutter, behaviour, invert);
  };
}

Behaviour read_behaviour(const Config& step, std::string_view otherwise) {
  constexpr std::array<std::pair<std::string_view, Behaviour>, 5> kNames = {
      {{"Removed", Behaviour::removed},
       {"Isolated", Behaviour::isolated},
       {"MergedWithPrevious", Behaviour::merged_with_previous},
       {"MergedWithNext", Behaviour::merged_with_next},
       {"Contiguous", Behaviour::contiguous}}};
  const std::string name = step.text_or("behavior", otherwise);
  for (const auto& [known, behaviour] : kNames) {
    if (name == known) return behaviour;
  }
  step.fail("behavior", "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous",
            name);
}

enum class Prefix { never, first, always };

Prefix read_prefix(const Config& step) {
  const bool adds = step.boolean_or("add_prefix_space", true);
  const std::string scheme = step.text_or("prepend_scheme", adds ? "always" : "never");
  if (!adds && scheme != "never") {
    step.fail("prepend_scheme", "never, because add_prefix_space is false", scheme);
  }
  if (scheme == "never") return Prefix::never;
  if (scheme == "first") return Prefix::first;
  if (scheme != "always") step.fail("prepend_scheme", "always, first or never", scheme);
  return Prefix::always;
}

void read_metaspace(const Config& step, Steps& steps) {
  const std::string replacement = step.text("replacement");
  if (replacement.empty() || character_at(replacement, 0).bytes != replacement.size()) {
    step.fail("replacement", "one character", fmt::format("'{}'", replacement));
  }
  const Prefix prefix = read_prefix(step);
  steps.emplace_back([replacement, prefix](Pieces& pieces) {
    rewrite_pieces(pieces, [&](std::string_view piece, bool is_first, std::string& text) {
      const bool starts_so = piece.starts_with(' ') || piece.starts_with(replacement);
      const bool wanted =
          prefix == Prefix::always || (prefix == Prefix::first && is_first && pieces.at_start);
      if (wanted && !starts_so) text += replacement;
      for (const char byte : piece) {
        if (byte == ' ') {
          text += replacement;
        } else {
          text += byte;
        }
      }
    });
  });
  if (step.boolean_or("split", true)) {
    steps.push_back(split_step(cut_at_text(replacement), Behaviour::merged_with_next));
  }
}

void read_byte_level(const Config& step, Steps& steps) {
  const bool add_prefix_space = step.boolean_or("add_prefix_space", true);
  if (add_prefix_space) {
    steps.emplace_back([](Pieces& pieces) {
      rewrite_pieces(pieces, [](std::string_view piece, bool, std::string& text) {
        if (!piece.starts_with(' ')) text += ' ';
        text += piece;
      });
    });
  }
  if (step.boolean_or("use_regex", true)) {
    steps.push_back(isolate_step(kGpt2Pattern));
  }
  steps.push_back(byte_characters_step());
}

void read_step(const Config& step, Steps& steps) {
  const std::string type = step.text("type");
  if (type == "Sequence") {
    for (const Config& part : step.objects("pretokenizers")) read_step(part, steps);
  } else if (type == "Split") {
    steps.push_back(split_step(read_pattern(step), read_behaviour(step, "Isolated"),
                               step.boolean_or("invert", false)));
  } else if (type == "ByteLevel") {
    read_byte_level(step, steps);
  } else if (type == "Metaspace") {
    read_metaspace(step, steps);
  } else if (type == "Digits") {
    steps.push_back(split_step(
        cut_at_characters(is_numeric),
        step.boolean_or("individual_digits", false) ? Behaviour::isolated : Behaviour::contiguous));
  } else if (type == "Punctuation") {
    steps.push_back(
        split_step(cut_at_characters(is_punctuation), read_behaviour(step, "Isolated")));
  } else if (type == "Whitespace") {
    steps.push_back(split_step(cut_at_matches(std::make_shared<const Regex>(
                                   "[\\w\\u200c\\u200d]+|[^\\w\\s\\u200c\\u200d]+")),
                               Behaviour::removed, true));
  } else if (type == "WhitespaceSplit") {
    steps.push_back(split_step(cut_at_characters(is_space), Behaviour::removed));
  } else {
    step.fail("type",
              "Sequence, Split, ByteLevel, Metaspace, Digits, Punctuation, Whitespace or "
              "WhitespaceSplit",
              type);
  }
}

void append_types(const Config& step, std::string_view list, std::string& text) {
  const std::string type = step.text("type");
  if (type != "Sequence") {
    text.append(text.empty() ? "" : ", ").append(type);
    return;
  }
  for (const Config& part : step.objects(list)) append_types(part, list, text);
}

}  // namespace

std::vector<PreTokenizerStep> read_pre_tokenizer(const Config& file) {
  Steps steps;
  if (const auto step = file.object_if("pre_tokenizer")) read_step(*step, steps);
  return steps;
}

std::string describe_steps(const Config& file, std::string_view key, std::string_view list) {
  std::string text;
  if (const auto step = file.object_if(key)) append_types(*step, list, text);
  return text.empty() ? "none" : text;
}

Cutter read_pattern(const Config& step) {
  const Config pattern = step.object("pattern");
  if (pattern.has("String")) {
    std::string text = pattern.text("String");
    if (text.empty()) pattern.fail("String", "a text", "an empty one");
    return cut_at_text(std::move(text));
  }
  const std::string expression = pattern.text("Regex");
  try {
    return cut_at_matches(std::make_shared<const Regex>(expression));
  } catch (const Error& error) {
    pattern.fail("Regex", "a regular expression of the supported kind",
                 fmt::format("'{}': {}", expression, error.what()));
  }
}

PreTokenizerStep byte_characters_step() {
  return [](Pieces& pieces) {
    rewrite_pieces(pieces, [](std::string_view piece, bool, std::string& text) {
      append_byte_characters(piece, text);
    });
  };
}

PreTokenizerStep isolate_step(std::string_view pattern) {
  return split_step(cut_at_matches(std::make_shared<const Regex>(pattern)), Behaviour::isolated);
}

}  // namespace poslens
