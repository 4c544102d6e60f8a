#include "simulation/run.h"

#include <mutex>
#include <optional>

#include "poslens/progress.h"
#include "poslens/run_parts.h"
#include "poslens/threads.h"

namespace poslens {
namespace {

// What a worker keeps from block to block.
struct Worker {
  explicit Worker(const Plan& plan) : runner(plan) {
    if (plan.lane_sums) block_totals.emplace(plan);
  }
  BlockRunner runner;
  // For small maps, whose blocks are short, so that threads need not wait for each other's sums.
  std::optional<Totals> block_totals;
};

}  // namespace

void run_blocks(const Plan& plan, const BlockRange& range, Part& part,
                const std::function<void(const Part& part)>& save, double interval) {
  const BlockList list(plan);
  const std::vector<BlockRange> missing = part.blocks.missing(range);
  std::int64_t count = 0;
  for (const BlockRange& gap : missing) count += gap.last - gap.first;
  const auto block_number = [&](std::int64_t index) {
    auto gap = missing.begin();
    for (; index >= gap->last - gap->first; ++gap) index -= gap->last - gap->first;
    return gap->first + index;
  };
  const double share = static_cast<double>(count) / static_cast<double>(list.size());
  Progress progress("simulate", share * static_cast<double>(plan.options.samples), "samples");

  std::mutex mutex;  // of part and of what follows
  CheckpointClock clock(interval);
  const double seconds_before = part.seconds;
  std::int64_t left = count;
  std::vector<std::optional<Worker>> workers(static_cast<std::size_t>(thread_count()));
  parallel_for(static_cast<std::size_t>(count), [&](std::size_t index, int number) {
    auto& worker = workers[static_cast<std::size_t>(number)];
    if (!worker) worker.emplace(plan);
    const std::int64_t block = block_number(static_cast<std::int64_t>(index));
    const BlockSamples samples = list.at(block);
    const BlockSums& sums = worker->runner.run(samples);
    if (worker->block_totals) {
      worker->block_totals->clear();
      worker->block_totals->add(sums, samples.count);
    }
    progress.advance(static_cast<double>(samples.count));

    const std::scoped_lock lock(mutex);
    Totals& totals = part.groups[static_cast<std::size_t>(samples.first % samples.stride)];
    if (worker->block_totals) {
      totals.add(*worker->block_totals);
    } else {
      totals.add(sums, samples.count);
    }
    part.blocks.add({block, block + 1});
    if (--left == 0 || !save) return;
    clock.tick([&] {
      part.seconds = seconds_before + clock.seconds();
      save(part);
    });
  });
  part.seconds = seconds_before + clock.seconds();
}

}  // namespace poslens
