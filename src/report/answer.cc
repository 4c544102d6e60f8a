#include "report/answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "report/answer_decoding.h"
#include "report/answer_effects.h"
#include "report/words.h"

namespace poslens {
namespace {

using Keys = Decomposition LayerMeasures::*;
using Part = Estimate Decomposition::*;
constexpr Keys kAllKeys = &LayerMeasures::all_keys;
constexpr Keys kWithoutFirst = &LayerMeasures::without_first_key;
constexpr Part kTotal = &Decomposition::total;
constexpr Part kNonrelative = &Decomposition::nonrelative;

Estimate sum_over_layers(const CellResult& cell, Keys keys, Part part) {
  std::vector<const Estimate*> inputs;
  for (const LayerMeasures& layer : cell.layers) inputs.push_back(&(layer.*keys.*part));
  return sum(inputs);
}

// Part of one cell against a part of another, both summed over layers.
Estimate sum_ratio(const CellResult& cell, Part part, const CellResult& other, Part other_part,
                   Keys keys) {
  return ratio(sum_over_layers(cell, keys, part), sum_over_layers(other, keys, other_part));
}

Estimate rest(const Estimate& share) {
  return combine({&share}, [](std::span<const double> of) { return 1 - of[0]; });
}

bool differ(const Estimate& a, const Estimate& b) {
  const Estimate difference =
      combine({&a, &b}, [](std::span<const double> of) { return of[0] - of[1]; });
  return std::abs(difference.value) > 2 * difference.standard_error;
}

class Writer {
 public:
  explicit Writer(Analysis& analysis)
      : analysis_(analysis), baseline_(analysis.cell(true, true)), model_(analysis.model_name) {
    for (std::size_t place = 0; place < baseline_.layers.size(); ++place) {
      if (beyond_noise(baseline_.layers[place].all_keys.total)) signal_.push_back(place);
    }
  }

  void write() {
    if (has_signal(baseline_)) {
      headline();
      first_layer();
      without_mask();
      without_encoding();
      neither();
      effects();
      shuffled();
    } else {
      paragraph(fmt::format(
          "No position signal beyond noise was found in {}: more sequences may tell.", model_));
    }
    nothing_left();
    decoding();
    method();
  }

 private:
  void paragraph(const std::string& text) {
    if (!analysis_.answer.empty()) analysis_.answer += '\n';
    analysis_.answer += text;
  }

  Estimate find(const std::string& name, Estimate estimate) {
    for (const auto& [known, value] : analysis_.findings) {
      if (known == name) return value;
    }
    return analysis_.findings.emplace_back(name, std::move(estimate)).second;
  }

  // Non-relative share of a cell, all layers together.
  Estimate share(const CellResult& cell, Keys keys) {
    const std::string suffix = keys == kAllKeys ? "" : "_without_first_key";
    return find("nonrelative_share_" + cell.cell.name + suffix,
                sum_ratio(cell, kNonrelative, cell, kTotal, keys));
  }
  // What is left of the baseline's total, and of its non-relative part, in another cell.
  Estimate total_left(const CellResult& cell, Keys keys) {
    const std::string suffix = keys == kAllKeys ? "" : "_without_first_key";
    return find("total_left_" + cell.cell.name + suffix,
                sum_ratio(cell, kTotal, baseline_, kTotal, keys));
  }
  Estimate nonrelative_left(const CellResult& cell, Keys keys) {
    const std::string suffix = keys == kAllKeys ? "" : "_without_first_key";
    return find("nonrelative_left_" + cell.cell.name + suffix,
                sum_ratio(cell, kNonrelative, baseline_, kNonrelative, keys));
  }
  bool has_signal(const CellResult& cell) const {
    return beyond_noise(sum_over_layers(cell, kAllKeys, kTotal));
  }

  // "0.3 % (layer 1) to 85 % (layer 22)"
  std::string range(Keys keys) {
    const auto share_at = [&](std::size_t place) -> const Estimate& {
      return (baseline_.layers[place].*keys).nonrelative_share;
    };
    std::vector<std::size_t> places;
    for (const std::size_t place : signal_) {
      if (std::isfinite(share_at(place).value)) places.push_back(place);
    }
    if (places.empty()) return "unknown in any single layer";
    const auto [low, high] = std::minmax_element(
        places.begin(), places.end(),
        [&](std::size_t a, std::size_t b) { return share_at(a).value < share_at(b).value; });
    const std::string suffix = keys == kAllKeys ? "" : "_without_first_key";
    find("smallest_layer_share" + suffix, share_at(*low));
    find("largest_layer_share" + suffix, share_at(*high));
    return fmt::format("{} (layer {}) to {} (layer {})", percent(share_at(*low)),
                       baseline_.layers[*low].layer + 1, percent(share_at(*high)),
                       baseline_.layers[*high].layer + 1);
  }

  void headline() {
    const Estimate all = share(baseline_, kAllKeys);
    const Estimate rest_share = find("relative_share_" + baseline_.cell.name, rest(all));
    std::string text;
    if (!beyond_noise(all)) {
      text = fmt::format(
          "The position signal of {} is relative up to noise: the part that no function of the "
          "distance i - j explains is {}.",
          model_, percent(all));
    } else {
      text = fmt::format(
          "{} of {} is relative: {} of it is a function of the distance i - j alone, and {} is "
          "not.",
          all.value + 2 * all.standard_error < 0.5   ? "Most of the position signal"
          : all.value - 2 * all.standard_error > 0.5 ? "Less than half of the position signal"
                                                     : "About half of the position signal",
          model_, percent(rest_share), percent(all));
    }
    const Estimate without = share(baseline_, kWithoutFirst);
    text += fmt::format(" Without the first key, the attention sink, {} is not relative{}.",
                        percent(without), beyond_noise(without) ? "" : ", which is noise");
    text += fmt::format(
        " By layer the non-relative share goes from {}; without the first key from "
        "{}.",
        range(kAllKeys), range(kWithoutFirst));
    paragraph(text);
  }

  void first_layer() {
    if (baseline_.layers.front().layer != 0) return;
    if (!beyond_noise(baseline_.layers.front().all_keys.total)) {
      paragraph("Layer 1, whose scores no attention has touched, has no signal beyond noise.");
      return;
    }
    const CellResult& control = analysis_.cell("control_shuffled");
    const Estimate own =
        find("first_layer_share", baseline_.layers.front().all_keys.nonrelative_share);
    const Estimate mixed =
        find("first_layer_share_shuffled", control.layers.front().all_keys.nonrelative_share);
    const auto verdict = [](const Estimate& estimate) {
      return beyond_noise(estimate) ? "relative but for a part beyond noise"
                                    : "relative up to noise";
    };
    std::string text = fmt::format(
        "Layer 1, whose scores no attention has touched, is {}: {} of "
        "its signal is non-relative; with shuffled tokens {}.",
        verdict(own), percent(own), percent(mixed));
    if (beyond_noise(own) && std::isfinite(mixed.standard_error)) {
      text += beyond_noise(mixed)
                  ? unexplained()
                  : " Shuffling takes it away: it comes from what stands where in the text.";
    }
    paragraph(text);
  }

  std::string unexplained() const {
    std::string text = " The text alone does not explain it";
    if (analysis_.encoding.name.find("learned") != std::string::npos) {
      text += ": learned positions are absolute";
    }
    return text + '.';
  }

  // "the position signal is 12 % of what it was (34 % without the first key)"
  std::string left(const CellResult& cell) {
    return fmt::format("the position signal is {} of what it was ({} without the first key)",
                       percent(total_left(cell, kAllKeys)),
                       percent(total_left(cell, kWithoutFirst)));
  }

  void without_mask() {
    const CellResult& cell = analysis_.cell(true, false);
    std::string text = "Without the causal mask " + left(cell);
    if (beyond_noise(share(baseline_, kAllKeys))) {
      const Estimate kept = nonrelative_left(cell, kAllKeys);
      text += fmt::format(", and its non-relative part {}: the mask {}.", percent(kept),
                          kept.value + 2 * kept.standard_error < 0.5
                              ? "makes most of what is not relative"
                          : kept.value - 2 * kept.standard_error > 0.5
                              ? "does not make most of what is not relative"
                              : "may or may not make most of what is not relative");
    } else {
      text += '.';
    }
    if (analysis_.encoding.name.find("ALiBi") != std::string::npos) {
      text +=
          " ALiBi's bias grows with the key's position, so that keys behind the query are "
          "favoured then.";
    }
    text +=
        fmt::format(" The share that is not relative is then {}.", percent(share(cell, kAllKeys)));
    paragraph(text);
  }

  void without_encoding() {
    const CellResult& cell = analysis_.cell(false, true);
    const PositionEncoding& encoding = analysis_.encoding;
    std::string text = "Without " + encoding.name;
    if (!encoding.where.empty()) text += fmt::format(", which works {},", encoding.where);
    text += ' ' + left(cell);
    if (has_signal(cell)) {
      text += fmt::format(
          "; {} of that is not relative. It is what the causal mask alone gives "
          "these weights",
          percent(share(cell, kAllKeys)));
    } else {
      text += ", which is noise";
    }
    paragraph(text + '.');
  }

  void neither() {
    const CellResult& cell = analysis_.cell(false, false);
    const bool something = has_signal(cell);
    paragraph(fmt::format("Without both {}{}.", left(cell),
                          something
                              ? ". By itself the model cannot tell positions apart then: this is "
                                "what stands where in the text"
                              : ", which is noise"));
  }

  void effects() {
    EffectsAnswer answer = answer_on_effects(analysis_);
    for (auto& [name, estimate] : answer.findings) find(name, std::move(estimate));
    if (!answer.text.empty()) paragraph(answer.text);
  }

  void shuffled() {
    const CellResult& cell = analysis_.cell("control_shuffled");
    const Estimate own = share(baseline_, kAllKeys);
    const Estimate mixed = share(cell, kAllKeys);
    const Estimate kept = total_left(cell, kAllKeys);
    std::string text = fmt::format(
        "Control, architecture or text: with the tokens of each sequence shuffled {}, and the "
        "non-relative share is {} instead of {}",
        left(cell), percent(mixed), percent(own));
    text += differ(own, mixed) ? ", a change beyond noise." : ", no change beyond noise.";
    text += kept.value - 2 * kept.standard_error > 0.5
                ? " Most of the signal belongs to the model and not to the text."
            : kept.value + 2 * kept.standard_error < 0.5
                ? " Most of the signal belongs to this text."
                : "";
    paragraph(text);
  }

  void nothing_left() {
    const CellResult& cell = analysis_.cell("control_null");
    if (cell.variation.empty()) return;
    std::vector<Estimate> relative;
    double largest = -std::numeric_limits<double>::infinity();
    int largest_layer = 0;
    int above = 0;
    for (std::size_t place = 0; place < cell.variation.size(); ++place) {
      const Estimate& variation = cell.variation[place];
      relative.push_back(ratio(variation, baseline_.layers[place].all_keys.total));
      above += beyond_noise(variation) ? 1 : 0;
      const double z = variation.value / variation.standard_error;
      if (z > largest) {
        largest = z;
        largest_layer = cell.layers[place].layer;
      }
    }
    std::vector<const Estimate*> inputs;
    for (const std::size_t place : signal_) inputs.push_back(&relative[place]);
    std::string text = fmt::format(
        "Control, nothing to tell positions by: without {} and mask and with shuffled "
        "tokens the map must be constant off the diagonal. ",
        analysis_.encoding.name);
    // One layer in ten may exceed two standard errors by chance.
    const bool few = 10 * static_cast<std::size_t>(above) <= cell.variation.size();
    bool constant = few;
    if (!inputs.empty()) {
      const Estimate all = sum(inputs);
      const auto layers = static_cast<double>(inputs.size());
      const Estimate mean =
          find("null_variation",
               combine({&all}, [&](std::span<const double> of) { return of[0] / layers; }));
      constant = !beyond_noise(mean) && few;
      text += fmt::format(
          "{}: its deviations are {} of the model's own signal in the mean over "
          "layers",
          constant ? "It is, up to noise" : "It is not", percent(mean));
    } else {
      text += constant ? "It is, up to noise" : "It is not";
    }
    text += fmt::format(
        "; {} of {} layers exceed two standard errors (the largest ratio is {:.1f}, "
        "in layer {}).",
        above, cell.variation.size(), largest, largest_layer + 1);
    find("null_layers_beyond_noise", Estimate{static_cast<double>(above)});
    find("null_largest_ratio", Estimate{largest});
    if (!constant) text += " Take differences of that size in the other numbers for noise.";
    paragraph(text);
  }

  void decoding() {
    DecodingAnswer answer = answer_on_decoding(analysis_);
    for (auto& [name, estimate] : answer.findings) find(name, std::move(estimate));
    if (!answer.text.empty()) paragraph(answer.text);
  }

  void method() {
    paragraph(fmt::format(
        "Position signal is how much the mean score of a query varies over the keys before it: "
        "mean squares of its deviations from the query's own mean, summed over layers. From {} "
        "sequences of {} tokens in {} groups; ± is one standard error over groups, noise is less "
        "than two of them. Layers are counted from 1 here, as in the figures. Maps are means "
        "and say nothing about one sequence.{}",
        analysis_.sequences, analysis_.length, analysis_.groups,
        analysis_.changes.empty()
            ? ""
            : fmt::format(" Changed in every run, the model as it is included: {}.",
                          fmt::join(analysis_.changes, "; "))));
  }

  Analysis& analysis_;
  const CellResult& baseline_;
  std::string model_;
  std::vector<std::size_t> signal_;  // places of layers with a signal
};

}  // namespace

const CellResult& Analysis::cell(std::string_view name) const {
  for (const CellResult& result : cells) {
    if (result.cell.name == name) return result;
  }
  throw std::out_of_range("no cell " + std::string(name));
}

const CellResult& Analysis::cell(bool encoded, bool causal) const {
  return cell(cell_name(encoding.tag, encoded, causal));
}

bool beyond_noise(const Estimate& estimate) { return estimate.value > 2 * estimate.standard_error; }

void conclude(Analysis& analysis) {
  analysis.answer.clear();
  analysis.findings.clear();
  Writer(analysis).write();
}

}  // namespace poslens
