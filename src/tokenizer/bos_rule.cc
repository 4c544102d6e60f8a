#include "tokenizer/bos_rule.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "poslens/error.h"

namespace poslens {
namespace {

// TemplateProcessing's "single": special tokens around the sequence.
void read_template(const Config& processor, const Vocabulary& vocabulary, BosRule& rule) {
  const auto id_of = [&](const std::string& name) {
    const Config token = processor.object("special_tokens").object(name);
    const std::vector<std::int64_t> ids = token.integers("ids");
    if (ids.size() != 1) token.fail("ids", "one id", fmt::format("{}", ids.size()));
    if (!vocabulary.has(ids[0])) {
      token.fail("ids", "the id of a token", fmt::format("{}", ids[0]));
    }
    return static_cast<std::int32_t>(ids[0]);
  };
  bool behind = false;
  for (const Config& part : processor.objects("single")) {
    if (part.has("Sequence")) {
      if (behind) part.fail("Sequence", "the sequence once", "it again");
      behind = true;
      continue;
    }
    std::optional<std::int32_t>& place = behind ? rule.eos : rule.bos;
    bool& adds = behind ? rule.adds_eos : rule.adds_bos;
    const std::string name = part.object("SpecialToken").text("id");
    if (adds) part.fail("SpecialToken", "one special token on a side", name);
    place = id_of(name);
    adds = true;
  }
  if (!behind) processor.fail("single", "a sequence", "none");
}

void read_processor(const Config& processor, const Vocabulary& vocabulary, BosRule& rule) {
  const std::string type = processor.text("type");
  if (type == "Sequence") {
    for (const Config& part : processor.objects("processors")) {
      read_processor(part, vocabulary, rule);
    }
  } else if (type == "TemplateProcessing") {
    if (rule.adds_bos || rule.adds_eos) processor.fail("type", "one template", "another");
    read_template(processor, vocabulary, rule);
  } else if (type != "ByteLevel") {
    processor.fail("type", "Sequence, TemplateProcessing or ByteLevel", type);
  }
}

// A token of tokenizer_config.json: a text, or an object with its content; nothing when null.
std::optional<std::int32_t> named_token(const Config& config, std::string_view key,
                                        const Vocabulary& vocabulary,
                                        const std::vector<bool>& is_added) {
  if (!config.has(key)) return std::nullopt;
  const bool plain = config.json().find(key)->is_string();
  const std::string text = plain ? config.text(key) : config.object(key).text("content");
  for (std::size_t id = 0; id < is_added.size(); ++id) {
    const auto candidate = static_cast<std::int32_t>(id);
    if (is_added[id] && vocabulary.text(candidate) == text) return candidate;
  }
  const std::int32_t id = vocabulary.find(text);
  if (id == kNoToken) config.fail(key, "a token of tokenizer.json", fmt::format("'{}'", text));
  return id;
}

}  // namespace

BosRule read_bos_rule(const Config& tokenizer, std::string_view config_json,
                      const std::string& file, const Vocabulary& vocabulary,
                      const std::vector<bool>& is_added) {
  BosRule rule;
  rule.source = "tokenizer.json, post_processor";
  if (const auto processor = tokenizer.object_if("post_processor")) {
    read_processor(*processor, vocabulary, rule);
  }
  if (config_json.empty()) return rule;
  const std::filesystem::path path = std::filesystem::path(file).parent_path();
  const Config config = Config::parse(config_json, (path / "tokenizer_config.json").string());
  const auto bos = named_token(config, "bos_token", vocabulary, is_added);
  const auto eos = named_token(config, "eos_token", vocabulary, is_added);
  if (config.has("add_bos_token")) {
    const bool adds = config.boolean("add_bos_token");
    rule.source = fmt::format(
        "tokenizer_config.json, add_bos_token{}",
        adds == rule.adds_bos
            ? ""
            : fmt::format("; the post_processor of tokenizer.json adds {}", adds ? "none" : "one"));
    if (bos) rule.bos = bos;
    rule.adds_bos = adds && rule.bos.has_value();
  } else if (!rule.adds_bos) {
    rule.bos = bos;
  }
  if (config.has("add_eos_token")) {
    if (eos) rule.eos = eos;
    rule.adds_eos = config.boolean("add_eos_token") && rule.eos.has_value();
  } else if (!rule.adds_eos) {
    rule.eos = eos;
  }
  return rule;
}

}  // namespace poslens
