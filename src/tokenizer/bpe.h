#pragma once
// Byte-pair merging (Sennrich, Haddow, Birch: "Neural machine translation of rare words with
// subword units", ACL 2016): as long as two neighbours have a merge, the one of the lowest rank is
// done, the leftmost first.

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace poslens {

class PairMerger {
 public:
  // Later calls have higher ranks. false when the pair has a merge already.
  bool add(std::int32_t left, std::int32_t right, std::int32_t merged);

  // Merges symbols in place; O(n log n).
  void merge(std::vector<std::int32_t>& symbols) const;

 private:
  struct Merge {
    std::int32_t rank;
    std::int32_t merged;
  };
  const Merge* find(std::int32_t left, std::int32_t right) const;

  std::unordered_map<std::uint64_t, Merge> merges_;
};

}  // namespace poslens
