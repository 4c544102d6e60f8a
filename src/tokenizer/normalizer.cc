#include <fmt/format.h>
#include <utf8proc.h>

#include <utility>

#include "poslens/error.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/characters.h"
#include "tokenizer/pipeline.h"

namespace poslens {
namespace {

constexpr std::size_t kLongestText = 256;  // bytes of a text that is put in

std::string short_text(const Config& step, std::string_view key) {
  std::string text = step.text(key);
  if (text.size() > kLongestText) {
    step.fail(key, fmt::format("at most {} bytes", kLongestText),
              fmt::format("{} bytes", text.size()));
  }
  return text;
}

NormalizerStep normal_form_step(NormalForm form) {
  return [form](std::string& text) { text = to_normal_form(text, form); };
}

NormalizerStep strip_step(bool left, bool right) {
  return [left, right](std::string& text) {
    std::size_t end = text.size();
    while (right && end > 0) {
      const Character last = character_before(text, end);
      if (!is_space(last.code)) break;
      end -= last.bytes;
    }
    text.resize(end);
    std::size_t start = 0;
    while (left && start < text.size()) {
      const Character first = character_at(text, start);
      if (!is_space(first.code)) break;
      start += first.bytes;
    }
    text.erase(0, start);
  };
}

void lower(std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    if (character.code == 0x130) {
      result += "i\u0307";  // the only one whose lower case is two characters (SpecialCasing.txt)
    } else {
      append_character(result, utf8proc_tolower(character.code));
    }
    at += character.bytes;
  }
  text = std::move(result);
}

void to_byte_characters(std::string& text) {
  std::string result;
  append_byte_characters(text, result);
  text = std::move(result);
}

void read_step(const Config& step, std::vector<NormalizerStep>& steps) {
  const std::string type = step.text("type");
  if (type == "Sequence") {
    for (const Config& part : step.objects("normalizers")) read_step(part, steps);
  } else if (type == "NFC") {
    steps.push_back(normal_form_step(NormalForm::nfc));
  } else if (type == "NFD") {
    steps.push_back(normal_form_step(NormalForm::nfd));
  } else if (type == "NFKC") {
    steps.push_back(normal_form_step(NormalForm::nfkc));
  } else if (type == "NFKD") {
    steps.push_back(normal_form_step(NormalForm::nfkd));
  } else if (type == "Replace") {
    steps.push_back(replace_step(read_pattern(step), short_text(step, "content")));
  } else if (type == "Prepend") {
    steps.push_back(prepend_step(short_text(step, "prepend")));
  } else if (type == "Lowercase") {
    steps.emplace_back(lower);
  } else if (type == "Strip") {
    steps.push_back(strip_step(step.boolean("strip_left"), step.boolean("strip_right")));
  } else if (type == "ByteLevel") {
    steps.emplace_back(to_byte_characters);
  } else {
    step.fail("type",
              "Sequence, NFC, NFD, NFKC, NFKD, Replace, Prepend, Lowercase, Strip or "
              "ByteLevel",
              type);
  }
}

}  // namespace

std::vector<NormalizerStep> read_normalizer(const Config& file) {
  std::vector<NormalizerStep> steps;
  if (const auto step = file.object_if("normalizer")) read_step(*step, steps);
  return steps;
}

std::string normalize(const std::vector<NormalizerStep>& steps, std::string_view text) {
  const std::size_t most = 64 * text.size() + (std::size_t{1} << 16);
  std::string result(text);
  for (const NormalizerStep& step : steps) {
    step(result);
    if (result.size() > most) {
      throw Error(
          fmt::format("text: the normalizer makes more than {} bytes of {}", most, text.size()));
    }
  }
  return result;
}

NormalizerStep prepend_step(std::string prefix) {
  return [prefix = std::move(prefix)](std::string& text) {
    if (!text.empty()) text.insert(0, prefix);
  };
}

NormalizerStep replace_step(Cutter cutter, std::string content) {
  return [cutter = std::move(cutter), content = std::move(content)](std::string& text) {
    std::vector<Cut> cuts;
    cutter(text, cuts);
    std::string result;
    std::size_t start = 0;
    for (const Cut& cut : cuts) {
      result += cut.is_match ? std::string_view{content}
                             : std::string_view{text}.substr(start, cut.end - start);
      start = cut.end;
    }
    text = std::move(result);
  };
}

}  // namespace poslens
