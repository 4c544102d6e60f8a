#pragma once
// The blocks that a run consists of, and sets of them: what a shard holds, what is done already.

#include <cstdint>
#include <map>
#include <vector>

#include "poslens/run_parts.h"
#include "simulation/block.h"

namespace poslens {

using BlockRange = WorkRange;

// Blocks of a run: fixed by its options, so that every thread, shard and later run means the same
// samples by the same number. Each block lies in one group.
class BlockList {
 public:
  explicit BlockList(const Plan& plan);
  std::int64_t size() const { return size_; }
  BlockSamples at(std::int64_t block) const;

 private:
  std::int64_t samples_;
  std::int64_t groups_;
  std::int64_t block_samples_;
  std::int64_t size_;
};

class BlockSet {
 public:
  // Throws std::logic_error when a block is in it already.
  void add(const BlockRange& range);
  // The blocks of the range that are not in the set, as ascending ranges.
  std::vector<BlockRange> missing(const BlockRange& range) const;
  // Ascending, with gaps between.
  std::vector<BlockRange> ranges() const;

 private:
  std::map<std::int64_t, std::int64_t> ranges_;  // first -> last
};

}  // namespace poslens
