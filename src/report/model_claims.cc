#include "report/model_claims.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/answer.h"
#include "report/numbers.h"

namespace poslens {
namespace {

struct Statement {
  const char* words;
  const char* measure;
  Decomposition LayerMeasures::*keys;  // whose non-relative share it is of; nullptr: nearness
};

constexpr Statement kStatements[] = {
    {"scores depend on more than the distance: the non-relative share is above 0",
     "nonrelative_share", &LayerMeasures::all_keys},
    {"the same without the first key, often an attention sink",
     "nonrelative_share_without_first_key", &LayerMeasures::without_first_key},
    {"near keys score higher: the slope against log distance is below 0", "nearness", nullptr},
};

Verdict verdict_of(const Statement& statement, const LayerMeasures& layer) {
  if (statement.keys == nullptr) return verdict_below_zero(layer.nearness);
  // Layer 1 scores the tokens themselves: what makes its map non-relative is no mask.
  if (layer.layer == 0) return Verdict::not_meant;
  const Decomposition& parts = layer.*statement.keys;
  return beyond_noise(parts.total) ? verdict_above_zero(parts.nonrelative_share)
                                   : Verdict::no_signal;
}

}  // namespace

Verdict verdict_above_zero(const Estimate& estimate) {
  const Interval interval = confidence_interval(estimate);
  if (interval.low > 0) return Verdict::shown;
  return interval.high < 0 ? Verdict::opposite : Verdict::not_shown;
}

Verdict verdict_below_zero(const Estimate& estimate) {
  const Interval interval = confidence_interval(estimate);
  if (interval.high < 0) return Verdict::shown;
  return interval.low > 0 ? Verdict::opposite : Verdict::not_shown;
}

std::string to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::shown:
      return "shown";
    case Verdict::not_shown:
      return "not shown";
    case Verdict::opposite:
      return "opposite";
    case Verdict::no_signal:
      return "no signal";
    case Verdict::not_meant:
      return "-";
  }
  return "";
}

std::int64_t ModelClaim::meant() const {
  return std::ssize(verdicts) - std::count(verdicts.begin(), verdicts.end(), Verdict::not_meant);
}

std::int64_t ModelClaim::shown() const {
  return std::count(verdicts.begin(), verdicts.end(), Verdict::shown);
}

std::vector<ModelClaim> model_claims(const std::vector<LayerMeasures>& layers) {
  std::vector<ModelClaim> claims;
  for (const Statement& statement : kStatements) {
    ModelClaim claim{statement.words, statement.measure, {}};
    for (const LayerMeasures& layer : layers)
      claim.verdicts.push_back(verdict_of(statement, layer));
    claims.push_back(std::move(claim));
  }
  return claims;
}

std::string model_measures_csv(const ModelRun& run) {
  std::string text = "layer,measure,value,standard_error,low,high,verdict\n";
  for (std::size_t place = 0; place < run.layers.size(); ++place) {
    for (const auto& [name, estimate] : named_estimates(run.layers[place])) {
      const auto claim =
          std::find_if(run.claims.begin(), run.claims.end(),
                       [measure = name](const ModelClaim& c) { return c.measure == measure; });
      text += fmt::format("{},{},{},{}\n", run.layers[place].layer, name, csv_estimate(*estimate),
                          claim == run.claims.end() ? "" : to_string(claim->verdicts[place]));
    }
  }
  return text;
}

}  // namespace poslens
