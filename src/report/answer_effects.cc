#include "report/answer_effects.h"

#include <fmt/format.h>

#include <limits>

#include "report/answer.h"
#include "report/words.h"

namespace poslens {
namespace {

using Keys = Decomposition Effect::*;
using Part = Estimate Decomposition::*;

struct Summary {
  Estimate total;
  Estimate share;
  Estimate nonrelative_share;
};

Estimate over_layers(const Analysis& analysis, std::size_t effect, Keys keys, Part part) {
  std::vector<const Estimate*> inputs;
  for (const FactorialEffects& layer : analysis.effects) {
    inputs.push_back(&(named_effects(layer)[effect].second->*keys.*part));
  }
  return sum(inputs);
}

// Of encoding, mask and interaction.
std::vector<Summary> summaries(const Analysis& analysis, Keys keys) {
  std::vector<Summary> all(3);
  for (std::size_t effect = 0; effect < all.size(); ++effect) {
    all[effect].total = over_layers(analysis, effect, keys, &Decomposition::total);
    all[effect].nonrelative_share.value = std::numeric_limits<double>::quiet_NaN();
    if (!beyond_noise(all[effect].total)) continue;
    all[effect].nonrelative_share =
        ratio(over_layers(analysis, effect, keys, &Decomposition::nonrelative), all[effect].total);
  }
  const Estimate whole = sum({&all[0].total, &all[1].total, &all[2].total});
  for (Summary& summary : all) summary.share = ratio(summary.total, whole);
  return all;
}

std::string share_in_words(const Summary& summary) {
  return beyond_noise(summary.total) ? percent(summary.nonrelative_share) : "unknown (noise)";
}

std::string shares_in_words(const std::vector<Summary>& all, const std::string& encoding) {
  return fmt::format("{} of {}'s, {} of the mask's and {} of the interaction",
                     share_in_words(all[0]), encoding, share_in_words(all[1]),
                     share_in_words(all[2]));
}

}  // namespace

EffectsAnswer answer_on_effects(const Analysis& analysis) {
  EffectsAnswer answer;
  if (analysis.effects.empty()) return answer;
  const std::vector<Summary> all = summaries(analysis, &Effect::all_keys);
  const std::vector<Summary> without = summaries(analysis, &Effect::without_first_key);
  const auto names = named_effects(analysis.effects.front());
  for (std::size_t effect = 0; effect < all.size(); ++effect) {
    const std::string& name = names[effect].first;
    const auto add = [&](const Summary& summary, const char* suffix) {
      answer.findings.emplace_back(fmt::format("effect_share_{}{}", name, suffix), summary.share);
      answer.findings.emplace_back(fmt::format("effect_nonrelative_share_{}{}", name, suffix),
                                   summary.nonrelative_share);
    };
    add(all[effect], "");
    add(without[effect], "_without_first_key");
  }
  const std::string& encoding = analysis.encoding.name;
  const Summary& together = all[2];
  answer.text = fmt::format(
      "Each by itself and both together: of all that {0} and mask change between the four cells, "
      "{1} is the effect of {0}, {2} that of the mask and {3} their interaction, which {4}. Not "
      "relative are {5}; without the first key {6}.",
      encoding, percent(all[0].share), percent(all[1].share), percent(together.share),
      beyond_noise(together.total) ? "is what either does only because the other is there"
                                   : "is noise",
      shares_in_words(all, encoding), shares_in_words(without, encoding));
  if (beyond_noise(together.total)) {
    answer.text +=
        beyond_noise(together.nonrelative_share)
            ? fmt::format(
                  " So the mask turns part of what {} does into something that is not "
                  "relative.",
                  encoding)
            : fmt::format(" So far as the noise tells, the mask leaves what {} does relative.",
                          encoding);
  }
  return answer;
}

}  // namespace poslens
