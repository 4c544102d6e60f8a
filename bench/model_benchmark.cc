// The model route's kernels on one core, at SmolLM2-135M's sizes unless an argument says otherwise.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <type_traits>
#include <vector>

#include "model/linear.h"
#include "simd/model_kernels.h"

namespace poslens {
namespace {

template <typename T>
std::vector<T> numbers(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 17) * 0.1f - 0.8f;
  if constexpr (std::is_same_v<T, float>) {
    return values;
  } else {
    std::vector<T> converted(count);
    simd::convert(values, 1, converted);
    return converted;
  }
}

void set_bytes(benchmark::State& state, std::size_t floats) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(floats * sizeof(float)));
}

// C [m, n] = A [m, k] B; items are floating-point operations.
template <typename T>
void product(benchmark::State& state) {
  const ProductShape shape{
      .m = state.range(0), .n = state.range(1), .k = state.range(2), .transposed = true};
  const auto a = numbers<T>(static_cast<std::size_t>(shape.m * shape.k));
  const auto b = numbers<T>(static_cast<std::size_t>(shape.n * shape.k));
  std::vector<float> c(static_cast<std::size_t>(shape.m * shape.n));
  Products products;
  for (auto _ : state) {
    products.run(shape, a.data(), b.data(), c.data());
    benchmark::DoNotOptimize(c.data());
  }
  state.SetItemsProcessed(state.iterations() * 2 * shape.m * shape.n * shape.k);
}
// A block's feed-forward, its query, and a tile of scores.
BENCHMARK(product<float>)->Args({64, 1536, 576})->Args({64, 576, 576})->Args({192, 64, 64});
BENCHMARK(product<simd::BFloat16>)
    ->Args({64, 1536, 576})
    ->Args({64, 576, 576})
    ->Args({192, 64, 64});

void rms_norm(benchmark::State& state) {
  const auto x = numbers<float>(576), weight = numbers<float>(576);
  std::vector<float> out(x.size());
  for (auto _ : state) {
    simd::rms_norm(x, weight, 1e-5f, out);
    benchmark::DoNotOptimize(out.data());
  }
  set_bytes(state, x.size());
}
BENCHMARK(rms_norm);

void silu_multiply(benchmark::State& state) {
  const auto gate = numbers<float>(1536), up = numbers<float>(1536);
  std::vector<float> out(gate.size());
  for (auto _ : state) {
    simd::silu_multiply(gate, up, out);
    benchmark::DoNotOptimize(out.data());
  }
  set_bytes(state, gate.size());
}
BENCHMARK(silu_multiply);

void softmax_numerators(benchmark::State& state) {
  const auto x = numbers<float>(static_cast<std::size_t>(state.range(0)));
  std::vector<float> out(x.size());
  for (auto _ : state) {
    benchmark::DoNotOptimize(simd::exp_and_sum(x, 0.5f, out));
  }
  set_bytes(state, x.size());
}
BENCHMARK(softmax_numerators)->Arg(128)->Arg(1024);

void scores_into_map(benchmark::State& state) {
  const auto scores = numbers<float>(static_cast<std::size_t>(state.range(0)));
  std::vector<float> sum(scores.size());
  for (auto _ : state) {
    benchmark::DoNotOptimize(simd::add_and_maximum(scores, sum));
  }
  set_bytes(state, scores.size());
}
BENCHMARK(scores_into_map)->Arg(128)->Arg(1024);

}  // namespace
}  // namespace poslens
