#pragma once
// Byte-pair merging (Sennrich, Haddow, Birch: "Neural machine translation of rare words with
// subword units", ACL 2016): as long as two neighbours have a merge, the one of the lowest rank is
// done, the leftmost first.

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace poslens {

struct Merge {
  double rank;
  std::int32_t merged;
};

// Neighbours among `count` symbols, each a range of what were symbols at first: [first, middle) and
// [middle, end). look gives their merge, if there is one, and is told when it is done. Returns
// where the symbols that are left begin. O(n log n) calls.
struct Neighbours {
  std::size_t first;
  std::size_t middle;
  std::size_t end;
};
std::vector<std::size_t> merge_neighbours(
    std::size_t count, const std::function<std::optional<Merge>(const Neighbours&)>& look,
    const std::function<void(const Neighbours&, const Merge&)>& done);

class PairMerger {
 public:
  // Later calls have higher ranks. false when the pair has a merge already.
  bool add(std::int32_t left, std::int32_t right, std::int32_t merged);

  // Merges symbols in place; O(n log n).
  void merge(std::vector<std::int32_t>& symbols) const;

 private:
  std::unordered_map<std::uint64_t, Merge> merges_;
};

}  // namespace poslens
