// Joins the shards of a run.

#include <fmt/format.h>

#include <algorithm>

#include "poslens/error.h"
#include "simulation/describe.h"

namespace poslens {

ScoreMap merge_shards(const SimulationOptions& options, const std::vector<NamedMap>& shards) {
  std::vector<std::string> names;
  names.reserve(shards.size());
  for (const NamedMap& shard : shards) names.push_back(shard.name);
  auto next = shards.begin();
  return merge_shards(options, names, [&](const std::string&) { return (next++)->map; });
}

ScoreMap merge_shards(const SimulationOptions& options, const std::vector<std::string>& names,
                      const std::function<ScoreMap(const std::string& name)>& load) {
  const Plan plan(options);
  const BlockList list(plan);
  ShardSet shards;
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
      shards.add(shard, name);
      const Part part = unpack(plan, map);
      const BlockRange range = shard.of(list.size());
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
  shards.require_all();
  ScoreMap map = describe(plan, all);
  map.provenance.peak_memory_bytes = memory;
  return map;
}

}  // namespace poslens
