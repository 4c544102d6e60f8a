#include "tokenizer/bpe.h"

#include <queue>

namespace poslens {
namespace {

std::uint64_t key_of(std::int32_t left, std::int32_t right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

// A merge that may be done if its neighbours still are those.
struct Candidate {
  Merge merge;
  Neighbours at;

  // For std::priority_queue, which gives the largest: lowest rank, then leftmost.
  bool operator<(const Candidate& other) const {
    return merge.rank != other.merge.rank ? merge.rank > other.merge.rank
                                          : at.first > other.at.first;
  }
};

}  // namespace

std::vector<std::size_t> merge_neighbours(
    std::size_t count, const std::function<std::optional<Merge>(const Neighbours&)>& look,
    const std::function<void(const Neighbours&, const Merge&)>& done) {
  // Symbols form a list: next[i] is where the symbol behind the one at i begins, count at the end;
  // before[i] where the one in front of it does. 0 in next: no symbol begins there any more.
  std::vector<std::size_t> next(count);
  std::vector<std::size_t> before(count);
  for (std::size_t i = 0; i < count; ++i) {
    next[i] = i + 1;
    before[i] = i - 1;  // wraps for the first, which nobody asks for
  }
  std::priority_queue<Candidate> candidates;
  const auto consider = [&](std::size_t first) {
    const Neighbours at{first, next[first], next[next[first]]};
    if (const auto merge = look(at)) candidates.push({*merge, at});
  };
  for (std::size_t i = 0; i + 1 < count; ++i) consider(i);
  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    const auto [first, middle, end] = best.at;
    if (next[first] != middle || next[middle] != end) continue;
    done(best.at, best.merge);
    next[first] = end;
    next[middle] = 0;
    if (end < count) {
      before[end] = first;
      consider(first);
    }
    if (first > 0) consider(before[first]);
  }
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < count; i = next[i]) starts.push_back(i);
  return starts;
}

bool PairMerger::add(std::int32_t left, std::int32_t right, std::int32_t merged) {
  const auto rank = static_cast<double>(merges_.size());
  return merges_.emplace(key_of(left, right), Merge{rank, merged}).second;
}

void PairMerger::merge(std::vector<std::int32_t>& symbols) const {
  const auto look = [&](const Neighbours& at) -> std::optional<Merge> {
    const auto found = merges_.find(key_of(symbols[at.first], symbols[at.middle]));
    return found == merges_.end() ? std::nullopt : std::optional(found->second);
  };
  const auto starts = merge_neighbours(
      symbols.size(), look,
      [&](const Neighbours& at, const Merge& merge) { symbols[at.first] = merge.merged; });
  for (std::size_t i = 0; i < starts.size(); ++i) symbols[i] = symbols[starts[i]];
  symbols.resize(starts.size());
}

}  // namespace poslens
