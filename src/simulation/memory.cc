#include "simulation/memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "poslens/resources.h"
#include "poslens/threads.h"
#include "simulation/block_set.h"
#include "simulation/readout.h"
#include "simulation/totals.h"

namespace poslens {
namespace {

std::int64_t in_bytes(std::size_t values, std::size_t size) {
  return static_cast<std::int64_t>(values * size);
}

std::int64_t map_bytes(const Plan& plan) {
  const SimulationOptions& options = plan.options;
  const std::size_t square = plan.n * plan.n;
  const std::size_t arrays = std::size_t{1} + (options.variance ? 1 : 0) + (options.probs ? 1 : 0) +
                             static_cast<std::size_t>(options.groups);
  const std::size_t hidden = options.hidden_geometry ? plan.layers + 1 : 0;
  return in_bytes(square, sizeof(std::int64_t)) +
         in_bytes(square * (plan.layers * arrays + hidden), sizeof(float));
}

// Of the rotary tables; the rest of a plan is small.
std::int64_t plan_bytes(const Plan& plan) {
  return in_bytes(plan.cosine.values().size() + plan.sine.values().size(), sizeof(float));
}

}  // namespace

std::int64_t run_bytes(const Plan& plan, const RunCheckpoint& checkpoint, int threads) {
  const std::int64_t sets = std::max<std::int64_t>(1, plan.options.groups);
  const std::int64_t totals = Totals::bytes(plan), part = sets * totals;
  const std::int64_t worker = BlockRunner::bytes(plan) + (plan.lane_sums ? totals : 0);
  const std::int64_t blocks = BlockList(plan).size();  // of the whole run
  const std::int64_t workers = std::min<std::int64_t>(threads, blocks) * worker;
  // The mean over groups needs a set of its own while the map is made.
  const std::int64_t map = map_bytes(plan) + (sets > 1 ? totals : 0);
  const std::int64_t packed = part;  // sums in a file
  const bool saves = !checkpoint.file.empty() && blocks > 1;
  const std::int64_t running = workers + (saves ? map + packed : 0);
  const std::int64_t ending =
      map + (plan.options.shard ? packed : 0) + readout_bytes(plan, threads);
  // Read as bytes, then as numbers, from which the part is made.
  const bool resumes = checkpoint.resume && std::filesystem::exists(checkpoint.file);
  const std::int64_t resuming = resumes ? 2 * (map + packed) + part : 0;
  return plan_bytes(plan) + part + std::max({running, ending, resuming});
}

void require_run_memory(const Plan& plan, const RunCheckpoint& checkpoint) {
  const SimulationOptions& options = plan.options;
  const ParameterFreeSpec& spec = options.spec;
  std::string text = fmt::format("--n {} --dim {} --layers {}", spec.n, spec.dim, spec.layer_count);
  if (options.groups > 1) text += fmt::format(" --groups {}", options.groups);
  for (const auto& [name, on] :
       {std::pair("variance", options.variance), std::pair("probs", options.probs),
        std::pair("hidden-geometry", options.hidden_geometry)}) {
    if (on) text += fmt::format(" --{}", name);
  }
  if (options.readout > 0) {
    text +=
        fmt::format(" --readout {} --readout-keys {}", options.readout, readout_key_count(options));
  }
  text += fmt::format(" --threads {}", thread_count());
  require_memory(run_bytes(plan, checkpoint, thread_count()), text);
}

}  // namespace poslens
