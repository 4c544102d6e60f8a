// Joins the shards of a run.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "poslens/error.h"
#include "simulation/describe.h"

namespace poslens {

ScoreMap merge_shards(const SimulationOptions& options, const std::vector<NamedMap>& shards) {
  std::vector<std::string> names;
  for (const NamedMap& shard : shards) names.push_back(shard.name);
  auto next = shards.begin();
  return merge_shards(options, names, [&](const std::string&) { return (next++)->map; });
}

ScoreMap merge_shards(const SimulationOptions& options, const std::vector<std::string>& names,
                      const std::function<ScoreMap(const std::string& name)>& load) {
  const Plan plan(options);
  const BlockList list(plan);
  std::map<int, std::string> found;  // index -> name
  std::optional<Shard> like;
  Part all(plan);
  std::int64_t memory = 0;
  for (const std::string& name : names) {
    const ScoreMap map = load(name);
    try {
      const auto text = shard_of(map);
      if (!text || map.sums.empty()) {
        throw Error("expected a shard of a simulation, which `poslens simulate --shard` writes");
      }
      check_same_run(map.provenance, provenance(options));
      const Shard shard = Shard::parse(*text);
      if (!like) like = shard;
      if (shard.count != like->count) {
        throw Error(fmt::format("expected one of {} shards, as {} is, found shard {}", like->count,
                                names.front(), shard.text()));
      }
      const auto [twin, is_new] = found.emplace(shard.index, name);
      if (!is_new) {
        throw Error(fmt::format("shard {} is given twice, also as {}", shard.text(), twin->second));
      }
      const Part part = unpack(plan, map);
      const BlockRange range = list.shard(shard);
      const std::vector<BlockRange> done = part.blocks.ranges();
      if (done.size() != 1 || done[0].first != range.first || done[0].last != range.last) {
        throw Error(fmt::format("shard {} is not complete; finish it with --resume", shard.text()));
      }
      for (std::size_t group = 0; group < all.groups.size(); ++group) {
        all.groups[group].add(part.groups[group]);
      }
      all.blocks.add(range);
      all.seconds += part.seconds;
      memory = std::max(memory, map.provenance.peak_memory_bytes);
    } catch (const Error& error) {
      throw Error(name + ": " + error.what());
    }
  }
  std::string missing;
  for (int index = 1; like && index <= like->count; ++index) {
    if (!found.contains(index)) missing += fmt::format(" {}/{}", index, like->count);
  }
  if (!like || !missing.empty()) {
    throw Error(like ? "expected every shard, but these are missing:" + missing
                     : "expected shards to merge, found none");
  }
  ScoreMap map = describe(plan, all);
  map.provenance.peak_memory_bytes = memory;
  return map;
}

}  // namespace poslens
