// The simulation's kernels on one core: random numbers, and whole blocks of samples by engine.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "poslens/theory.h"
#include "simd/normal.h"
#include "simulation/block.h"
#include "simulation/block_set.h"

namespace poslens {
namespace {

void normals(benchmark::State& state) {
  std::vector<float> values(1 << 16);
  std::uint64_t sample = 0;
  for (auto _ : state) {
    simd::fill_normals(1, sample++, static_cast<std::int64_t>(values.size() / 16), values);
    benchmark::DoNotOptimize(values.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(values.size()));
}
BENCHMARK(normals);

void chi_variables(benchmark::State& state) {
  std::vector<float> values(1 << 12);
  std::uint64_t sample = 0;
  for (auto _ : state) {
    simd::fill_chi(1, sample++, static_cast<int>(state.range(0)), values);
    benchmark::DoNotOptimize(values.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(values.size()));
}
BENCHMARK(chi_variables)->Arg(2)->Arg(64)->Arg(4096);

ParameterFreeSpec spec(std::int64_t n, std::int64_t dim) {
  ParameterFreeSpec spec;
  spec.n = n;
  spec.dim = static_cast<int>(dim);
  spec.layer_count = 4;
  return spec;
}

// Items are samples.
void run_blocks(benchmark::State& state, const SimulationOptions& options) {
  options.validate();
  const Plan plan(options);
  const BlockSamples block = BlockList(plan).at(0);
  BlockRunner runner(plan);
  for (auto _ : state) benchmark::DoNotOptimize(runner.run(block).scores.data());
  state.SetItemsProcessed(state.iterations() * block.count);
}

SimulationOptions options_of(const ParameterFreeSpec& spec) {
  SimulationOptions options;
  options.spec = spec;
  options.samples = 1 << 20;
  return options;
}

void triangular_l2(benchmark::State& state) {
  run_blocks(state, options_of(spec(state.range(0), state.range(1))));
}
BENCHMARK(triangular_l2)->Args({10, 16})->Args({50, 64})->Args({50, 4096})->Args({200, 64});

void triangular_layernorm_recency(benchmark::State& state) {
  SimulationOptions options = options_of(spec(state.range(0), state.range(1)));
  options.spec.norm = Norm::layernorm;
  options.spec.score_scale = ScoreScale::inv_sqrt_dim;
  options.recency = true;
  run_blocks(state, options);
}
BENCHMARK(triangular_layernorm_recency)->Args({10, 16})->Args({50, 64});

void dense_rope(benchmark::State& state) {
  SimulationOptions options = options_of(spec(state.range(0), state.range(1)));
  options.spec.rope_theta = 10000;
  run_blocks(state, options);
}
BENCHMARK(dense_rope)->Args({50, 64})->Args({50, 256});

void mean_field_layers(benchmark::State& state) {
  const ParameterFreeSpec own = spec(state.range(0), 64);
  for (auto _ : state) benchmark::DoNotOptimize(mean_field_scores(own).size());
}
BENCHMARK(mean_field_layers)->Arg(50)->Arg(200);

}  // namespace
}  // namespace poslens
