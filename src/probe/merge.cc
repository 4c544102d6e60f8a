// Joins the shards of a model's run. Each holds means over its own sequences, so those of the run
// are their means, weighted by numbers of sequences; variances are pooled as Chan, Golub and
// LeVeque (1979) do.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "poslens/error.h"
#include "poslens/probe.h"

namespace poslens {
namespace {

std::size_t size_of(std::int64_t value) { return static_cast<std::size_t>(value); }

// Every array that is a mean over a run's sequences, the scores first.
template <typename Visit>
void visit_means(ScoreMap& map, const Visit& visit) {
  visit("scores", map.scores);
  visit("scores_heads", map.scores_heads);
  visit("probs", map.probs);
  visit("loss", map.loss);
  visit("hidden", map.hidden);
  for (auto& [name, values] : map.gram) visit("gram_" + name, values);
  for (auto& [name, values] : map.profiles) visit(name, values);
}

std::int64_t number_option(const Provenance& provenance, const std::string& wanted) {
  for (const auto& [name, value] : provenance.options) {
    if (name != wanted) continue;
    if (value.empty() || value.size() > 15 ||
        value.find_first_not_of("0123456789") != std::string::npos) {
      break;
    }
    return std::stoll(value);
  }
  throw Error(fmt::format("options: expected a whole number as '{}'", wanted));
}

class Merger {
 public:
  // Of the first shard, whose options and shapes the others must share.
  explicit Merger(const ScoreMap& map)
      : expected_(map.provenance),
        sequences_(number_option(map.provenance, "sequences")),
        groups_(std::max<std::int64_t>(1, map.groups)) {
    if (sequences_ < 1) throw Error("options: expected at least 1 sequence");
  }

  void add(ScoreMap map, const std::string& name) {
    const auto text = shard_of(map);
    if (!text || map.source != Source::model) {
      throw Error("expected a shard of a model's run, which `poslens probe --shard` writes");
    }
    check_same_run(map.provenance, expected_);
    const Shard shard = Shard::parse(*text);
    shards_.add(shard, name);
    const WorkRange range = shard.of(sequences_);
    if (range.size() < 1) throw Error(fmt::format("shard {} has no sequences", shard.text()));
    check_shapes(map);
    const auto own = static_cast<double>(range.size());
    add_variance(map, own);
    std::size_t place = 0;
    visit_means(map, [&](const std::string&, const auto& values) {
      add_weighted(sums_[place++], 0, values.data(), values.size(), own);
    });
    const std::size_t size = map.scores.size();
    for (std::int64_t group = 0; group < map.groups; ++group) {
      const auto members = static_cast<double>(members_of(group, range));
      // The mean of no sequences is no number.
      if (members > 0) {
        const std::size_t first = size_of(group) * size;
        add_weighted(group_sums_, first, map.scores_groups.data() + first, size, members);
      }
    }
    done_ += own;
    if (count_.empty()) count_.resize(map.count.size());
    for (std::size_t i = 0; i < count_.size(); ++i) count_[i] += map.count[i];
    seconds_ += map.provenance.seconds;
    peak_memory_ = std::max(peak_memory_, map.provenance.peak_memory_bytes);
    part_words_ = fmt::format("{} of ", range.size());
    // What is in the sums now need not wait for the next shard.
    visit_means(map, [](const std::string&, auto& values) { values = {}; });
    map.scores_groups = {};
    map.variance = {};
    result_ = std::move(map);
  }

  ScoreMap finish() {
    shards_.require_all();
    ScoreMap map = std::move(result_);
    std::size_t place = 0;
    visit_means(map, [&](const std::string&, auto& values) {
      divide(std::exchange(sums_[place++], {}), values, [&](std::size_t) { return done_; });
    });
    const std::size_t size = map.scores.size();
    divide(std::exchange(group_sums_, {}), map.scores_groups, [&](std::size_t i) {
      const auto group = static_cast<std::int64_t>(i / size);
      return static_cast<double>(members_of(group, {0, sequences_}));
    });
    divide(std::exchange(squares_, {}), map.variance, [&](std::size_t) { return done_ - 1; });
    map.count = std::move(count_);
    describe(map.provenance);
    return map;
  }

 private:
  // Sequences of a range whose number is the group's, modulo the number of groups.
  std::int64_t members_of(std::int64_t group, const WorkRange& range) const {
    const auto below = [&](std::int64_t n) { return (n - group + groups_ - 1) / groups_; };
    return below(range.last) - below(range.first);
  }

  // The first shard decides; files agree with their options unless someone changed them.
  void check_shapes(ScoreMap& map) {
    std::vector<std::pair<std::string, std::size_t>> sizes = {
        {"scores_groups", map.scores_groups.size()}, {"variance", map.variance.size()}};
    visit_means(map, [&](const std::string& name, const auto& values) {
      sizes.emplace_back(name, values.size());
    });
    if (sizes_.empty()) {
      sizes_ = sizes;
      sums_.resize(sizes.size() - 2);
    }
    if (sizes.size() != sizes_.size()) throw Error("holds other arrays than the first shard");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == sizes_[i]) continue;
      throw Error(fmt::format("{}: expected {} values, found {}", sizes[i].first, sizes_[i].second,
                              sizes[i].second));
    }
  }

  template <typename T>
  static void add_weighted(std::vector<double>& sums, std::size_t first, const T* values,
                           std::size_t size, double weight) {
    if (sums.size() < first + size) sums.resize(first + size);
    for (std::size_t i = 0; i < size; ++i) sums[first + i] += weight * double{values[i]};
  }

  // divisor(i): that of sum i.
  template <typename T, typename Divisor>
  static void divide(const std::vector<double>& sums, std::vector<T>& values,
                     const Divisor& divisor) {
    values.resize(sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      values[i] = static_cast<T>(sums[i] / divisor(i));
    }
  }

  // Before the scores: their mean so far is needed.
  void add_variance(const ScoreMap& map, double own) {
    if (map.variance.empty()) return;
    squares_.resize(map.variance.size());
    for (std::size_t i = 0; i < squares_.size(); ++i) {
      // One sequence has no variance of its own.
      if (own > 1) squares_[i] += (own - 1) * double{map.variance[i]};
      if (done_ == 0) continue;
      const double off = double{map.scores[i]} - sums_[0][i] / done_;
      squares_[i] += off * off * own * done_ / (own + done_);
    }
  }

  void describe(Provenance& provenance) const {
    auto& options = provenance.options;
    // Of one shard's run alone.
    std::erase_if(options, [](const auto& option) {
      return option.first == "shard" || option.first == "threads" || option.first == "memory";
    });
    const std::size_t at = provenance.averaging.find(part_words_);
    if (at != std::string::npos) provenance.averaging.erase(at, part_words_.size());
    provenance.seconds = seconds_;
    provenance.peak_memory_bytes = peak_memory_;
  }

  Provenance expected_;
  std::int64_t sequences_;
  std::int64_t groups_;
  ShardSet shards_;
  std::vector<std::pair<std::string, std::size_t>> sizes_;
  std::vector<std::vector<double>> sums_;  // of each array of visit_means
  std::vector<double> group_sums_, squares_;
  std::vector<std::int64_t> count_;
  double done_ = 0;  // sequences so far
  double seconds_ = 0;
  std::int64_t peak_memory_ = 0;
  std::string part_words_;
  ScoreMap result_;  // the last shard, without its sums
};

}  // namespace

ScoreMap merge_probes(const std::vector<std::string>& names,
                      const std::function<ScoreMap(const std::string& name)>& load) {
  std::optional<Merger> merger;
  for (const std::string& name : names) {
    ScoreMap map = load(name);
    try {
      if (!merger) merger.emplace(map);
      merger->add(std::move(map), name);
    } catch (const Error& error) {
      throw Error(name + ": " + error.what());
    }
  }
  if (!merger) throw Error("expected shards to merge, found none");
  return merger->finish();
}

}  // namespace poslens
