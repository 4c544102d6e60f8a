#include "simulation/part.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "poslens/error.h"

namespace poslens {
namespace {

constexpr const char* kBlocks = "blocks";

const std::vector<std::int64_t>& find(const ScoreMap& map, const std::string& name,
                                      std::size_t size) {
  const auto found = map.sums.find(name);
  if (found == map.sums.end()) throw Error("has no array 'sum_" + name + "'");
  if (found->second.size() != size) {
    throw Error(
        fmt::format("sum_{}: expected {} values, found {}", name, size, found->second.size()));
  }
  return found->second;
}

}  // namespace

Part::Part(const Plan& plan)
    : groups(static_cast<std::size_t>(std::max<std::int64_t>(1, plan.options.groups)),
             Totals(plan)) {}

std::map<std::string, std::vector<std::int64_t>> pack(const Part& part) {
  std::map<std::string, std::vector<std::int64_t>> packed;
  for (const BlockRange& range : part.blocks.ranges()) {
    packed[kBlocks].push_back(range.first);
    packed[kBlocks].push_back(range.last);
  }
  for (const Totals::Sum& sum : Totals::sums()) {
    std::vector<std::int64_t>& values = packed[sum.name];
    for (const Totals& group : part.groups) {
      values.insert(values.end(), (group.*sum.values).begin(), (group.*sum.values).end());
    }
  }
  return packed;
}

Part unpack(const Plan& plan, const ScoreMap& map) {
  Part part(plan);
  const auto blocks = map.sums.find(kBlocks);
  if (blocks == map.sums.end() || blocks->second.empty() || blocks->second.size() % 2 != 0) {
    throw Error("expected the sums of a part of a run in 'sum_blocks'");
  }
  std::int64_t end = 0;  // ascending ranges within the run, so that nothing is in it twice
  for (std::size_t i = 0; i < blocks->second.size(); i += 2) {
    const BlockRange range = {blocks->second[i], blocks->second[i + 1]};
    if (range.first < end || range.last <= range.first || range.last > BlockList(plan).size()) {
      throw Error(fmt::format("sum_blocks: expected ascending ranges of {} blocks, found {}-{}",
                              BlockList(plan).size(), range.first, range.last));
    }
    part.blocks.add(range);
    end = range.last;
  }
  for (const Totals::Sum& sum : Totals::sums()) {
    const std::size_t size = (part.groups[0].*sum.values).size();
    auto from = find(map, sum.name, size * part.groups.size()).begin();
    for (Totals& group : part.groups) {
      std::copy_n(from, size, (group.*sum.values).begin());
      from += static_cast<std::ptrdiff_t>(size);
    }
  }
  part.seconds = map.provenance.seconds;
  return part;
}

}  // namespace poslens
