#pragma once
// The normalizer and the pre-tokenizer of tokenizer.json.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "poslens/config.h"
#include "tokenizer/pieces.h"

namespace poslens {

using NormalizerStep = std::function<void(std::string&)>;
using PreTokenizerStep = std::function<void(Pieces&)>;

// The steps of tokenizer.json's key "normalizer" ("pre_tokenizer"), none when it is absent. Throws
// Error naming the type or the option that is not supported, and those that are.
std::vector<NormalizerStep> read_normalizer(const Config& file);
std::vector<PreTokenizerStep> read_pre_tokenizer(const Config& file);

// "Split, ByteLevel", say: the types in their order; "none" when the key is absent.
std::string describe_steps(const Config& file, std::string_view key, std::string_view list);

// Does the steps. Throws Error when a text grows beyond all reason.
std::string normalize(const std::vector<NormalizerStep>& steps, std::string_view text);

NormalizerStep prepend_step(std::string prefix);
NormalizerStep replace_step(Cutter cutter, std::string content);
// GPT-2's pattern (Radford et al. 2019, encoder.py), which ByteLevel uses.
inline constexpr std::string_view kGpt2Pattern =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
// Every match of the pattern is a piece, and so is what lies between two.
PreTokenizerStep isolate_step(std::string_view pattern);
// Writes every byte as the character that stands for it.
PreTokenizerStep byte_characters_step();

// The key "pattern": {"String": …} or {"Regex": …}.
Cutter read_pattern(const Config& step);

}  // namespace poslens
