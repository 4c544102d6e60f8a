#include "tokenizer/bpe.h"

#include <algorithm>
#include <queue>

namespace poslens {
namespace {

std::uint64_t key_of(std::int32_t left, std::int32_t right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

// A merge that may be done, of the symbols at `place` and behind it, if they still are those.
struct Candidate {
  std::int32_t rank;
  std::int32_t merged;
  std::size_t place;
  std::int32_t left;
  std::int32_t right;

  // For std::priority_queue, which gives the largest: lowest rank, then leftmost.
  bool operator<(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : place > other.place;
  }
};

constexpr std::int32_t kGone = -1;

}  // namespace

bool PairMerger::add(std::int32_t left, std::int32_t right, std::int32_t merged) {
  const auto rank = static_cast<std::int32_t>(merges_.size());
  return merges_.emplace(key_of(left, right), Merge{rank, merged}).second;
}

const PairMerger::Merge* PairMerger::find(std::int32_t left, std::int32_t right) const {
  const auto found = merges_.find(key_of(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

void PairMerger::merge(std::vector<std::int32_t>& symbols) const {
  const std::size_t count = symbols.size();
  if (count < 2) return;
  // Symbols form a list: next[i] is the place of the symbol behind i, count at the end; before[i]
  // the place in front of it.
  std::vector<std::size_t> next(count);
  std::vector<std::size_t> before(count);
  for (std::size_t i = 0; i < count; ++i) {
    next[i] = i + 1;
    before[i] = i - 1;  // wraps for the first, which nobody asks for
  }
  std::priority_queue<Candidate> candidates;
  const auto consider = [&](std::size_t place) {
    const std::int32_t left = symbols[place];
    const std::int32_t right = symbols[next[place]];
    if (const Merge* merge = find(left, right)) {
      candidates.push({merge->rank, merge->merged, place, left, right});
    }
  };
  for (std::size_t i = 0; i + 1 < count; ++i) consider(i);
  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    const std::size_t gone = next[best.place];
    if (symbols[best.place] != best.left || gone == count || symbols[gone] != best.right) continue;
    symbols[best.place] = best.merged;
    symbols[gone] = kGone;
    next[best.place] = next[gone];
    if (next[gone] < count) {
      before[next[gone]] = best.place;
      consider(best.place);
    }
    if (best.place > 0) consider(before[best.place]);
  }
  std::erase(symbols, kGone);
}

}  // namespace poslens
