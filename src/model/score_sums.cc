#include "model/score_sums.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "model/pooled_strip.h"
#include "poslens/threads.h"

namespace poslens {
namespace {

std::size_t size_of(std::int64_t value) { return static_cast<std::size_t>(value); }

const AttentionSpec& attention_of(const ModelSpec& spec, int layer) {
  return spec.layers[size_of(layer)].attention;
}

// The last before the mask, in any of the layers.
Stage stage_of(const ModelSpec& spec, const std::vector<int>& layers) {
  Stage stage = Stage::scaled;
  for (const int layer : layers) {
    const AttentionSpec& attention = attention_of(spec, layer);
    if (attention.alibi) return Stage::biased;
    if (attention.softcap != 0) stage = Stage::capped;
  }
  return stage;
}

std::int64_t side_of(const DecoderOptions& options, std::int64_t length) {
  return (length + options.pool - 1) / options.pool;
}

}  // namespace

ScoreSums::ScoreSums(const ModelSpec& spec, const DecoderOptions& options, std::vector<int> layers,
                     std::int64_t length, const WorkRange& sequences)
    : spec_(spec), sequences_(sequences), groups_(options.groups) {
  map_.source = Source::model;
  map_.stage = stage_of(spec, layers);
  map_.n = side_of(options, length);
  const std::size_t square = size_of(map_.n * map_.n);
  const std::size_t all = layers.size() * square;
  map_.scores.assign(all, 0);
  map_.count.assign(square, 0);
  if (options.groups > 1) {
    map_.groups = options.groups;
    map_.scores_groups.assign(size_of(options.groups) * all, 0);
  }
  if (options.per_head) {
    map_.heads = attention_of(spec, layers.front()).query_heads;
    map_.scores_heads.assign(size_of(map_.heads) * all, 0);
  }
  if (options.probs) map_.probs.assign(all, 0);
  if (options.variance) {
    map_.variance.assign(all, 0);
    running_mean_.assign(all, 0);
  }
  if (options.pool > 1) {
    map_.pool = options.pool;
    map_.pooled_positions = length;
    score_profiles_.assign(layers.size() * size_of(profile_size(length)), 0);
    if (options.probs) probability_profiles_ = score_profiles_;
  }
  map_.layers = std::move(layers);
}

LayerSums ScoreSums::of(int layer) {
  LayerSums sums;
  sums.pool = map_.pool;
  sums.side = map_.n;
  const auto found = std::find(map_.layers.begin(), map_.layers.end(), layer);
  if (found == map_.layers.end()) return sums;
  const std::size_t square = map_.count.size();
  const auto place = static_cast<std::size_t>(found - map_.layers.begin());
  const std::size_t offset = place * square;
  if (groups_ > 1) {
    for (std::size_t group = 0; group < size_of(groups_); ++group) {
      sums.groups.push_back(map_.scores_groups.data() + group * map_.layers.size() * square +
                            offset);
    }
  } else {
    sums.groups.push_back(map_.scores.data() + offset);
  }
  if (map_.heads > 0) sums.heads = map_.scores_heads.data() + size_of(map_.heads) * offset;
  if (!map_.probs.empty()) sums.probabilities = map_.probs.data() + offset;
  if (!map_.variance.empty()) {
    sums.running_mean = running_mean_.data() + offset;
    sums.squares = map_.variance.data() + offset;
  }
  const std::size_t profiles = place * size_of(profile_size(map_.positions()));
  if (!score_profiles_.empty()) sums.score_profiles = score_profiles_.data() + profiles;
  if (!probability_profiles_.empty()) {
    sums.probability_profiles = probability_profiles_.data() + profiles;
  }
  return sums;
}

std::int64_t ScoreSums::group_sequences(std::int64_t group) const {
  // Numbers below n that are of the group.
  const auto below = [&](std::int64_t n) { return (n - group + groups_ - 1) / groups_; };
  return below(sequences_.last) - below(sequences_.first);
}

void ScoreSums::add_to(RunState& state) {
  for (const auto& [name, values] :
       {std::pair("scores", groups_ > 1 ? nullptr : &map_.scores),
        std::pair("scores_groups", &map_.scores_groups),
        std::pair("scores_heads", &map_.scores_heads), std::pair("probs", &map_.probs),
        std::pair("squares", &map_.variance), std::pair("running_mean", &running_mean_)}) {
    if (values != nullptr && !values->empty()) state.arrays.push_back({name, std::span(*values)});
  }
  for (const auto& [name, values] : {std::pair("score_profiles", &score_profiles_),
                                     std::pair("probability_profiles", &probability_profiles_)}) {
    if (!values->empty()) state.arrays.push_back({name, std::span(*values)});
  }
}

void ScoreSums::finish_layer(std::size_t place) {
  const std::size_t square = map_.count.size();
  const int layer = map_.layers[place];
  const AttentionSpec& attention = attention_of(spec_, layer);
  const double heads = attention.query_heads;
  const double all = static_cast<double>(sequences_.size());
  const LayerSums sums = of(layer);
  float* scores = map_.scores.data() + place * square;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> shown(size_of(map_.n));  // pairs of an entry; NaN for none, as its mean is
  for (std::int64_t i = 0; i < map_.n; ++i) {
    const std::vector<std::int64_t> pairs =
        block_pairs(attention.mask, map_.positions(), map_.pool, i);
    for (std::size_t j = 0; j < shown.size(); ++j) {
      shown[j] = pairs[j] == 0 ? nan : static_cast<double>(pairs[j]);
    }
    const std::size_t row = size_of(i * map_.n);
    const auto divide = [&](float* values, double samples) {
      for (std::size_t j = 0; j < shown.size(); ++j) {
        values[row + j] = static_cast<float>(values[row + j] / (samples * shown[j]));
      }
    };
    if (map_.groups > 0) {
      for (std::size_t j = 0; j < shown.size(); ++j) {
        double sum = 0;
        for (const float* group : sums.groups) sum += double{group[row + j]};
        scores[row + j] = static_cast<float>(sum);
      }
    }
    divide(scores, all * heads);
    for (std::int64_t g = 0; g < map_.groups; ++g) {
      divide(sums.groups[size_of(g)], static_cast<double>(group_sequences(g)) * heads);
    }
    for (std::int64_t h = 0; h < map_.heads; ++h) divide(sums.heads + size_of(h) * square, all);
    if (sums.probabilities != nullptr) divide(sums.probabilities, all * heads);
    if (sums.squares != nullptr) {
      for (std::size_t j = 0; j < shown.size(); ++j) {
        sums.squares[row + j] = pairs[j] == 0
                                    ? std::numeric_limits<float>::quiet_NaN()
                                    : static_cast<float>(sums.squares[row + j] / (all - 1));
      }
    }
  }
}

void ScoreSums::finish_profiles(const std::string& what, std::vector<double>& sums) {
  if (sums.empty()) return;
  const std::int64_t n = map_.positions();
  std::vector<double>& rows = map_.profiles[what + "_rows"];
  std::vector<double>& columns = map_.profiles[what + "_columns"];
  std::vector<double>& diagonals = map_.profiles[what + "_diagonals"];
  const double* sum = sums.data();
  for (const int layer : map_.layers) {
    const AttentionSpec& attention = attention_of(spec_, layer);
    const double samples = static_cast<double>(sequences_.size()) * attention.query_heads;
    const auto append = [&](const std::vector<std::int64_t>& pairs, std::vector<double>& means) {
      for (const std::int64_t shown : pairs) {
        means.push_back(shown == 0 ? std::numeric_limits<double>::quiet_NaN()
                                   : *sum / (samples * static_cast<double>(shown)));
        ++sum;
      }
    };
    const ProfilePairs pairs = profile_pairs(attention.mask, n);
    append(pairs.rows, rows);
    append(pairs.columns, columns);
    append(pairs.lags, diagonals);
    std::reverse(diagonals.end() - (2 * n - 1), diagonals.end());  // from j - i to i - j
  }
  sums = {};
}

ScoreMap ScoreSums::finish() {
  parallel_for(map_.layers.size(), [&](std::size_t place, int) { finish_layer(place); });
  const Mask* counted = nullptr;  // masks seldom change from layer to layer
  for (const int layer : map_.layers) {
    const Mask& mask = attention_of(spec_, layer).mask;
    if (counted != nullptr && *counted == mask) continue;
    counted = &mask;
    for (std::int64_t i = 0; i < map_.n; ++i) {
      const std::vector<std::int64_t> pairs = block_pairs(mask, map_.positions(), map_.pool, i);
      for (std::size_t j = 0; j < pairs.size(); ++j) {
        if (pairs[j] > 0) map_.count[size_of(i * map_.n) + j] = sequences_.size();
      }
    }
  }
  finish_profiles("scores", score_profiles_);
  finish_profiles("probs", probability_profiles_);
  return std::move(map_);
}

std::int64_t ScoreSums::bytes(const ModelSpec& spec, const DecoderOptions& options,
                              std::int64_t layers, std::int64_t length) {
  std::int64_t maps = 1;
  if (options.groups > 1) maps += options.groups;
  if (options.per_head) maps += spec.layers.front().attention.query_heads;
  if (options.probs) maps += 1;
  if (options.variance) maps += 2;
  const std::int64_t side = side_of(options, length);
  const std::int64_t profiles =
      options.pool > 1 ? 2 * profile_size(length) * std::int64_t{sizeof(double)} : 0;
  return side * side * (layers * maps * std::int64_t{sizeof(float)} + 8) +
         layers * profiles * (options.probs ? 2 : 1);
}

}  // namespace poslens
