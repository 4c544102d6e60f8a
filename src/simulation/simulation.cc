#include "poslens/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <numeric>
#include <optional>

#include "poslens/error.h"
#include "poslens/resources.h"
#include "poslens/version.h"
#include "simulation/describe.h"
#include "simulation/memory.h"
#include "simulation/readout.h"
#include "simulation/run.h"

namespace poslens {
namespace {

constexpr std::int64_t kMostSamples = 100'000'000'000;  // see totals.h

// What the statistics of a sample's own scores run over in a layer.
struct Comparisons {
  double pairs = 0;  // (k, j) of visible keys with i > k > j, over all queries i
  double rows = 0;   // queries that have such a pair
};

Comparisons comparisons(const ParameterFreeSpec& spec, int layer) {
  Comparisons all;
  for (std::int64_t query = 0; query < spec.n; ++query) {
    const KeyRange keys = spec.mask_of(layer).keys(query, spec.n);
    const std::int64_t last = std::min(keys.last, query);
    const std::int64_t before = (last - keys.first + keys.step - 1) / keys.step;
    all.pairs += static_cast<double>(before) * static_cast<double>(before - 1) / 2;
    all.rows += before > 1 ? 1 : 0;
  }
  return all;
}

// Appends value(layer, query, key) of every visible pair to out, [layers, n, n], NaN elsewhere.
template <typename Value>
void append(const Plan& plan, std::vector<float>& all, const Value& value) {
  const ParameterFreeSpec& spec = plan.options.spec;
  const std::size_t start = all.size();
  all.resize(start + plan.layers * plan.n * plan.n, std::numeric_limits<float>::quiet_NaN());
  float* const out = all.data() + start;
  for (std::size_t layer = 0; layer < plan.layers; ++layer) {
    for (std::size_t query = 0; query < plan.n; ++query) {
      const KeyRange keys =
          spec.mask_of(static_cast<int>(layer)).keys(static_cast<std::int64_t>(query), spec.n);
      for (auto key = static_cast<std::size_t>(keys.first);
           key < static_cast<std::size_t>(keys.last); key += static_cast<std::size_t>(keys.step)) {
        out[(layer * plan.n + query) * plan.n + key] = static_cast<float>(value(layer, query, key));
      }
    }
  }
}

// The means over a part's samples.
ScoreMap to_map(const Plan& plan, const Part& part) {
  const SimulationOptions& options = plan.options;
  std::optional<Totals> sum;  // over groups
  if (part.groups.size() > 1) {
    sum.emplace(plan);
    for (const Totals& group : part.groups) sum->add(group);
  }
  const Totals& all = sum ? *sum : part.groups.front();
  std::vector<int> layers(plan.layers);
  std::iota(layers.begin(), layers.end(), 0);
  ScoreMap map;
  map.layers = std::move(layers);
  map.n = options.spec.n;
  map.count.resize(plan.n * plan.n);
  map.source = Source::simulation;
  map.stage = options.spec.alibi_slope ? Stage::biased : Stage::scaled;
  for (int layer = 0; layer < options.spec.layer_count; ++layer) {
    for (std::int64_t query = 0; query < options.spec.n; ++query) {
      const KeyRange keys = options.spec.mask_of(layer).keys(query, options.spec.n);
      for (std::int64_t key = keys.first; key < keys.last; key += keys.step) {
        map.count[static_cast<std::size_t>(query * options.spec.n + key)] = all.samples();
      }
    }
  }
  append(plan, map.scores,
         [&](auto layer, auto query, auto key) { return all.score(layer, query, key); });
  if (options.variance) {
    append(plan, map.variance,
           [&](auto layer, auto query, auto key) { return all.variance(layer, query, key); });
  }
  if (options.probs) {
    append(plan, map.probs,
           [&](auto layer, auto query, auto key) { return all.probability(layer, query, key); });
  }
  if (options.hidden_geometry) map.hidden_cosine.reserve((plan.layers + 1) * plan.n * plan.n);
  for (std::size_t layer = 0; options.hidden_geometry && layer <= plan.layers; ++layer) {
    for (std::size_t i = 0; i < plan.n; ++i) {
      map.hidden_norm.push_back(static_cast<float>(all.hidden_norm(layer, i)));
      for (std::size_t j = 0; j < plan.n; ++j) {
        map.hidden_cosine.push_back(static_cast<float>(all.hidden_cosine(layer, i, j)));
      }
    }
  }
  if (options.groups > 1) {
    map.groups = options.groups;
    map.scores_groups.reserve(part.groups.size() * map.scores.size());
    for (const Totals& group : part.groups) {
      append(plan, map.scores_groups,
             [&](auto layer, auto query, auto key) { return group.score(layer, query, key); });
    }
  }
  for (std::size_t layer = 0; layer < plan.layers; ++layer) {
    const Comparisons made = comparisons(options.spec, static_cast<int>(layer));
    const auto samples = static_cast<double>(all.samples());
    if (options.recency) {
      map.recency.push_back(static_cast<double>(all.recency(layer)) / (made.pairs * samples));
    }
    if (options.monotonicity) {
      map.monotonicity.push_back(static_cast<double>(all.monotone(layer)) / (made.rows * samples));
    }
  }
  return map;
}

}  // namespace

Provenance provenance(const SimulationOptions& options) {
  Provenance provenance;
  provenance.options = options.spec.options();
  auto& list = provenance.options;
  list.emplace_back("samples", std::to_string(options.samples));
  if (options.groups > 1) list.emplace_back("groups", std::to_string(options.groups));
  for (const auto& [name, on] :
       {std::pair("variance", options.variance), std::pair("probs", options.probs),
        std::pair("recency", options.recency), std::pair("monotonicity", options.monotonicity),
        std::pair("hidden-geometry", options.hidden_geometry)}) {
    if (on) list.emplace_back(name, "on");
  }
  if (options.readout > 0) {
    list.emplace_back("readout", std::to_string(options.readout));
    list.emplace_back("readout-keys", std::to_string(readout_key_count(options)));
  }
  if (options.shard) list.emplace_back("shard", options.shard->text());
  provenance.engine = to_string(choose_engine(options));
  provenance.seed = options.seed;
  provenance.program = std::string("poslens ") + kVersion;
  return provenance;
}

ScoreMap describe(const Plan& plan, const Part& part) {
  ScoreMap map = to_map(plan, part);
  const SimulationOptions& options = plan.options;
  map.provenance = provenance(options);
  std::int64_t samples = 0;
  for (const Totals& group : part.groups) samples += group.samples();
  map.provenance.averaging = fmt::format("mean over {} samples", samples);
  if (samples != options.samples) {
    map.provenance.averaging += fmt::format(", a part of {}", options.samples);
  }
  map.provenance.seconds = part.seconds;
  map.provenance.peak_memory_bytes = peak_memory_bytes();
  return map;
}

namespace {

void add_readout(const SimulationOptions& options, ScoreMap& map) {
  const auto start = std::chrono::steady_clock::now();
  Readout readout = read_out(options);
  map.readout_r2 = std::move(readout.r2);
  map.readout_error = std::move(readout.error);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  map.provenance.seconds += seconds.count();
  map.provenance.peak_memory_bytes = peak_memory_bytes();
  map.provenance.averaging +=
      fmt::format("; readout fitted to samples 0 to {}, tested on samples {} to {}",
                  options.readout - 1, options.readout, 2 * options.readout - 1);
}

Part read_checkpoint(const Plan& plan, const std::filesystem::path& file) {
  const ScoreMap map = load_score_map(file);
  try {
    const Provenance expected = provenance(plan.options);
    check_same_run(map.provenance, expected);
    const std::string shard = shard_of(map).value_or("none");
    const std::string wanted = plan.options.shard ? plan.options.shard->text() : "none";
    if (shard != wanted) throw Error(fmt::format("expected --shard {}, found {}", wanted, shard));
    return unpack(plan, map);
  } catch (const Error& error) {
    throw Error(file.string() + ": " + error.what());
  }
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
  for (int layer = 0; (recency || monotonicity) && layer < spec.layer_count; ++layer) {
    if (comparisons(spec, layer).rows > 0) continue;
    throw UsageError(
        fmt::format("--{}: expected a query that sees two keys before it, found none in layer {} "
                    "with --n {} --mask {}",
                    recency ? "recency" : "monotonicity", layer, spec.n, spec.mask_text()));
  }
  validate_readout(*this);
  choose_engine(*this);
}

Engine choose_engine(const SimulationOptions& options) {
  const ParameterFreeSpec& spec = options.spec;
  const bool triangular = !spec.rope_theta && spec.is_causal();
  if (options.engine == Engine::automatic) {
    return triangular ? Engine::triangular : Engine::dense;
  }
  if (options.engine == Engine::triangular && !triangular) {
    throw UsageError(fmt::format(
        "--engine triangular: expected no rotary encoding and masks that hide later keys, "
        "found {}",
        spec.rope_theta ? fmt::format("--rope {}", *spec.rope_theta)
                        : "--mask " + spec.mask_text()));
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

ScoreMap simulate(const SimulationOptions& options) { return simulate(options, {}); }

ScoreMap simulate(const SimulationOptions& options, const RunCheckpoint& checkpoint) {
  options.validate();
  const Plan plan(options);
  const BlockList list(plan);
  const Shard shard = options.shard.value_or(Shard());
  if (shard.count > list.size()) {
    throw UsageError(
        fmt::format("--shard {}: {} samples make {} blocks, so expected at most that "
                    "many shards",
                    shard.text(), options.samples, list.size()));
  }
  require_run_memory(plan, checkpoint);
  Part part(plan);
  if (checkpoint.resume && std::filesystem::exists(checkpoint.file)) {
    part = read_checkpoint(plan, checkpoint.file);
  }
  std::function<void(const Part&)> save_part;
  if (!checkpoint.file.empty()) {
    save_part = [&](const Part& so_far) {
      ScoreMap map = describe(plan, so_far);
      map.sums = pack(so_far);
      save(map, checkpoint.file);
    };
  }
  run_blocks(plan, shard.of(list.size()), part, save_part, checkpoint.interval);
  ScoreMap map = describe(plan, part);
  if (options.shard) map.sums = pack(part);
  if (options.readout > 0) add_readout(options, map);
  return map;
}

}  // namespace poslens
