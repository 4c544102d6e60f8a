#include "simulation/block_set.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace poslens {

BlockList::BlockList(const Plan& plan)
    : samples_(plan.options.samples),
      groups_(std::max<std::int64_t>(1, plan.options.groups)),
      block_samples_(plan.block_samples) {
  // One block of every group, then the next of every group; the last turn may lack some groups.
  const std::int64_t turn = block_samples_ * groups_;
  const std::int64_t turns = (samples_ + turn - 1) / turn;
  size_ = (turns - 1) * groups_ + std::min(groups_, samples_ - (turns - 1) * turn);
}

BlockSamples BlockList::at(std::int64_t block) const {
  const std::int64_t first = block % groups_ + block / groups_ * block_samples_ * groups_;
  const std::int64_t left = (samples_ - first + groups_ - 1) / groups_;
  return {first, groups_, std::min(left, block_samples_)};
}

void BlockSet::add(const BlockRange& range) {
  auto next = ranges_.lower_bound(range.first);
  const bool overlaps = (next != ranges_.end() && next->first < range.last) ||
                        (next != ranges_.begin() && std::prev(next)->second > range.first);
  if (overlaps || range.first >= range.last) throw std::logic_error("a block is done twice");
  BlockRange joined = range;
  if (next != ranges_.end() && next->first == range.last) {
    joined.last = next->second;
    next = ranges_.erase(next);
  }
  if (next != ranges_.begin() && std::prev(next)->second == range.first) {
    joined.first = std::prev(next)->first;
    ranges_.erase(std::prev(next));
  }
  ranges_[joined.first] = joined.last;
}

std::vector<BlockRange> BlockSet::missing(const BlockRange& range) const {
  std::vector<BlockRange> gaps;
  std::int64_t at = range.first;
  for (const auto& [first, last] : ranges_) {
    if (first > at && at < range.last) gaps.push_back({at, std::min(first, range.last)});
    at = std::max(at, last);
  }
  if (at < range.last) gaps.push_back({at, range.last});
  return gaps;
}

std::vector<BlockRange> BlockSet::ranges() const {
  std::vector<BlockRange> result;
  for (const auto& [first, last] : ranges_) result.push_back({first, last});
  return result;
}

}  // namespace poslens
