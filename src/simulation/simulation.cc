#include "poslens/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>

#include "poslens/error.h"
#include "poslens/progress.h"
#include "poslens/resources.h"
#include "poslens/threads.h"
#include "poslens/version.h"
#include "simulation/block.h"
#include "simulation/totals.h"

namespace poslens {
namespace {

constexpr std::int64_t kMostSamples = 100'000'000'000;  // see totals.h

// What a worker keeps from block to block: its buffers, and its sums for each group.
struct Worker {
  Worker(const Plan& plan, std::size_t groups) : runner(plan), totals(groups, Totals(plan)) {}
  BlockRunner runner;
  std::vector<Totals> totals;
};

// Sums of every group of samples. Blocks are the same whatever the number of threads.
std::vector<Totals> run_blocks(const Plan& plan) {
  const std::int64_t samples = plan.options.samples;
  const std::int64_t groups = std::max<std::int64_t>(1, plan.options.groups);
  std::vector<BlockSamples> blocks;
  for (std::int64_t start = 0; start * groups < samples; start += plan.block_samples) {
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t first = group + start * groups;
      if (first >= samples) break;
      const std::int64_t left = (samples - first + groups - 1) / groups;
      blocks.push_back({first, groups, std::min(left, plan.block_samples)});
    }
  }
  Progress progress("simulate", static_cast<double>(samples), "samples");
  std::vector<std::optional<Worker>> workers(static_cast<std::size_t>(thread_count()));
  parallel_for(blocks.size(), [&](std::size_t index, int number) {
    auto& worker = workers[static_cast<std::size_t>(number)];
    if (!worker) worker.emplace(plan, static_cast<std::size_t>(groups));
    const BlockSamples& block = blocks[index];
    worker->totals[static_cast<std::size_t>(block.first % groups)].add(worker->runner.run(block),
                                                                       block.count);
    progress.advance(static_cast<double>(block.count));
  });
  std::vector<Totals> totals(static_cast<std::size_t>(groups), Totals(plan));
  for (const auto& worker : workers) {
    if (!worker) continue;
    for (std::size_t group = 0; group < totals.size(); ++group) {
      totals[group].add(worker->totals[group]);
    }
  }
  return totals;
}

// Pairs (k, j) of visible keys with i > k > j, over all queries i.
double recency_pairs(const ParameterFreeSpec& spec) {
  double pairs = 0;
  for (std::int64_t query = 0; query < spec.n; ++query) {
    const KeyRange keys = spec.mask.keys(query, spec.n);
    const auto before = static_cast<double>(std::min(keys.last, query) - keys.first);
    pairs += before * (before - 1) / 2;
  }
  return pairs;
}

// Writes value(layer, query, key) of every visible pair to out [layers, n, n].
template <typename Value>
void fill(const Plan& plan, float* out, const Value& value) {
  const ParameterFreeSpec& spec = plan.options.spec;
  for (std::size_t layer = 0; layer < plan.layers; ++layer) {
    for (std::size_t query = 0; query < plan.n; ++query) {
      const KeyRange keys = spec.mask.keys(static_cast<std::int64_t>(query), spec.n);
      for (auto key = static_cast<std::size_t>(keys.first);
           key < static_cast<std::size_t>(keys.last); ++key) {
        out[(layer * plan.n + query) * plan.n + key] = static_cast<float>(value(layer, query, key));
      }
    }
  }
}

ScoreMap to_map(const Plan& plan, const std::vector<Totals>& groups) {
  const SimulationOptions& options = plan.options;
  Totals all(plan);
  for (const Totals& group : groups) all.add(group);
  std::vector<int> layers(plan.layers);
  std::iota(layers.begin(), layers.end(), 0);
  ScoreMap map = ScoreMap::sized(std::move(layers), options.spec.n);
  map.source = Source::simulation;
  map.stage = Stage::scaled;
  const std::vector<float> hidden = map.scores;  // NaN everywhere
  for (std::size_t query = 0; query < plan.n; ++query) {
    const KeyRange keys = options.spec.mask.keys(static_cast<std::int64_t>(query), options.spec.n);
    const auto row = map.count.begin() + static_cast<std::ptrdiff_t>(query * plan.n);
    std::fill(row + keys.first, row + keys.last, options.samples);
  }
  fill(plan, map.scores.data(),
       [&](auto layer, auto query, auto key) { return all.score(layer, query, key); });
  if (options.variance) {
    map.variance = hidden;
    fill(plan, map.variance.data(),
         [&](auto layer, auto query, auto key) { return all.variance(layer, query, key); });
  }
  if (options.probs) {
    map.probs = hidden;
    fill(plan, map.probs.data(),
         [&](auto layer, auto query, auto key) { return all.probability(layer, query, key); });
  }
  if (options.groups > 1) {
    map.groups = options.groups;
    for (const Totals& group : groups) {
      map.scores_groups.insert(map.scores_groups.end(), hidden.begin(), hidden.end());
      fill(plan, map.scores_groups.data() + map.scores_groups.size() - hidden.size(),
           [&](auto layer, auto query, auto key) { return group.score(layer, query, key); });
    }
  }
  if (options.recency) {
    const double triples = recency_pairs(options.spec) * static_cast<double>(options.samples);
    for (std::size_t layer = 0; layer < plan.layers; ++layer) {
      map.recency.push_back(static_cast<double>(all.recency(layer)) / triples);
    }
  }
  return map;
}

}  // namespace

void SimulationOptions::validate() const {
  spec.validate();
  const auto refuse = [](const char* option, std::int64_t value, const std::string& expected) {
    throw UsageError(fmt::format("{} {}: expected {}", option, value, expected));
  };
  if (samples < 1 || samples > kMostSamples) {
    refuse("--samples", samples, fmt::format("1 to {}", kMostSamples));
  }
  if (variance && samples < 2) refuse("--samples", samples, "at least 2 with --variance");
  if (groups != 0 && (groups < 2 || groups > std::min<std::int64_t>(samples, 1024))) {
    refuse("--groups", groups, "2 to 1024, and no more than there are samples");
  }
  if (recency && recency_pairs(spec) < 1) {
    throw UsageError(
        fmt::format("--recency: expected a query that sees two keys before it, found none with --n "
                    "{} --mask {}",
                    spec.n, spec.mask.text()));
  }
  choose_engine(*this);
}

Engine choose_engine(const SimulationOptions& options) {
  const ParameterFreeSpec& spec = options.spec;
  const bool triangular = !spec.rope_theta && spec.mask.is_causal();
  if (options.engine == Engine::automatic) {
    return triangular ? Engine::triangular : Engine::dense;
  }
  if (options.engine == Engine::triangular && !triangular) {
    throw UsageError(
        fmt::format("--engine triangular: expected no rotary encoding and a causal or window mask, "
                    "found {}",
                    spec.rope_theta ? fmt::format("--rope {}", *spec.rope_theta)
                                    : "--mask " + spec.mask.text()));
  }
  return options.engine;
}

Engine parse_engine(const std::string& text) {
  for (const Engine engine : {Engine::automatic, Engine::triangular, Engine::dense}) {
    if (to_string(engine) == text) return engine;
  }
  throw UsageError("--engine " + text + ": expected auto, triangular or dense");
}

std::string to_string(Engine engine) {
  switch (engine) {
    case Engine::automatic:
      return "auto";
    case Engine::triangular:
      return "triangular";
    case Engine::dense:
      break;
  }
  return "dense";
}

ScoreMap simulate(const SimulationOptions& options) {
  options.validate();
  const auto start = std::chrono::steady_clock::now();
  const Plan plan(options);
  ScoreMap map = to_map(plan, run_blocks(plan));
  Provenance& provenance = map.provenance;
  provenance.averaging = fmt::format("mean over {} samples", options.samples);
  provenance.options = options.spec.options();
  provenance.options.emplace_back("samples", std::to_string(options.samples));
  if (options.groups > 1) provenance.options.emplace_back("groups", std::to_string(options.groups));
  provenance.engine = to_string(choose_engine(options));
  provenance.seed = options.seed;
  provenance.program = std::string("poslens ") + kVersion;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  provenance.seconds = elapsed.count();
  provenance.peak_memory_bytes = peak_memory_bytes();
  return map;
}

}  // namespace poslens
