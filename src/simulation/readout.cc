#include "simulation/readout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <span>

#include "poslens/error.h"
#include "poslens/progress.h"
#include "poslens/threads.h"
#include "simd/cholesky.h"
#include "simulation/block.h"

namespace poslens {
namespace {

constexpr double kPenalty = 1e-4;  // lambda, in mean variances of a score
// At least this, in mean squares: a score is exact to about 1e-6 of itself.
constexpr double kLeastPenalty = 1e-12;
constexpr std::int64_t kMostKeys = 512;
constexpr std::int64_t kMostReadoutSamples = 100'000'000;

// The samples of a pass are summed up in at most that many parts, which are then added in order.
constexpr std::int64_t kParts = 64;
constexpr std::size_t kPartBytes = std::size_t{256} << 20;  // of all of them
constexpr std::int64_t kBlockSamples = 64;

// A layer's sums for the fit: see fit().
std::size_t fit_size(std::size_t key_count) { return 2 * key_count + triangle_size(key_count); }

struct Division {
  std::int64_t block_samples;
  std::int64_t blocks;
  std::int64_t parts;
};

// layer_size: doubles that are summed up in a layer.
Division divide(const Plan& plan, std::int64_t samples, std::size_t layer_size) {
  const std::int64_t block_samples = std::min(kBlockSamples, plan.block_samples);
  const std::int64_t blocks = (samples + block_samples - 1) / block_samples;
  const std::size_t part_bytes = plan.layers * layer_size * sizeof(double);
  const auto fitting = static_cast<std::int64_t>(1 + kPartBytes / part_bytes);
  return {block_samples, blocks, std::min({kParts, blocks, fitting})};
}

// What the passes over the samples have in common: which rows, in which order, on which thread.
class Pass {
 public:
  Pass(const Plan& plan, std::size_t key_count, Progress& progress)
      : plan_(plan), key_count_(key_count), progress_(progress) {}

  // Sums [layers, layer_size] over `count` samples from `first` on; add(layer, query, scores,
  // sums).
  template <typename Add>
  std::vector<double> sum(std::int64_t first, std::int64_t count, std::size_t layer_size,
                          const Add& add) const {
    const Division work = divide(plan_, count, layer_size);
    std::vector<std::vector<double>> sums(static_cast<std::size_t>(work.parts));
    std::vector<std::optional<BlockRunner>> runners(static_cast<std::size_t>(thread_count()));
    parallel_for(sums.size(), [&](std::size_t part, int worker) {
      auto& runner = runners[static_cast<std::size_t>(worker)];
      if (!runner) runner.emplace(plan_);
      sums[part].assign(plan_.layers * layer_size, 0);
      std::vector<double> scores(key_count_);
      const auto take = [&](const PanelScores& panel) {
        const std::span<double> layer =
            std::span(sums[part]).subspan(panel.layer * layer_size, layer_size);
        take_rows(panel, scores,
                  [&](std::size_t query) { add(panel.layer, query, scores, layer); });
      };
      const auto number = static_cast<std::int64_t>(part);
      const std::int64_t last = work.blocks * (number + 1) / work.parts;
      for (std::int64_t block = work.blocks * number / work.parts; block < last; ++block) {
        const std::int64_t start = block * work.block_samples;
        const std::int64_t size = std::min(work.block_samples, count - start);
        runner->run({first + start, 1, size}, take);
        progress_.advance(static_cast<double>(size));
      }
    });
    for (std::size_t part = 1; part < sums.size(); ++part) {
      std::transform(sums[0].begin(), sums[0].end(), sums[part].begin(), sums[0].begin(),
                     std::plus<>());
    }
    return std::move(sums[0]);
  }

 private:
  // Every sample's row of every query from K on, in `scores`.
  template <typename Take>
  void take_rows(const PanelScores& panel, std::vector<double>& scores, const Take& take) const {
    const std::size_t first = panel.panel * kPanelRows;  // key 0 is the first key of these panels
    for (std::size_t r = 0; r < plan_.panels[panel.panel].rows; ++r) {
      if (first + r < key_count_) continue;
      for (std::size_t lane = 0; lane < panel.live_lanes; ++lane) {
        for (std::size_t key = 0; key < key_count_; ++key) {
          scores[key] = panel.scores[(key * kPanelRows + r) * panel.lanes + lane];
        }
        take(first + r);
      }
    }
  }

  const Plan& plan_;
  std::size_t key_count_;
  Progress& progress_;
};

struct Fit {
  double intercept = 0;
  std::vector<double> weights;
};

// sums: of the scores [K], of the scores times the position's distance from the mean position [K],
// of the products of two scores [K (K + 1) / 2].
Fit fit(std::span<const double> sums, std::size_t key_count, double rows, double mean_position) {
  const std::span<const double> products = sums.subspan(2 * key_count);
  std::vector<double> mean(key_count), covariance(products.size());
  double trace = 0, squares = 0;
  Fit result{mean_position, std::vector<double>(key_count)};
  for (std::size_t a = 0; a < key_count; ++a) {
    mean[a] = sums[a] / rows;
    result.weights[a] = sums[key_count + a] / rows;
    for (std::size_t b = 0; b <= a; ++b) {
      const std::size_t at = triangle_size(a) + b;
      covariance[at] = products[at] / rows - mean[a] * mean[b];
    }
    trace += covariance[triangle_size(a) + a];
    squares += products[triangle_size(a) + a] / rows;
  }
  const double penalty =
      std::max(kPenalty * trace, kLeastPenalty * squares) / static_cast<double>(key_count);
  for (std::size_t a = 0; a < key_count; ++a) covariance[triangle_size(a) + a] += penalty;
  simd::solve_positive_definite(covariance, result.weights);
  result.intercept -= std::inner_product(mean.begin(), mean.end(), result.weights.begin(), 0.0);
  return result;
}

}  // namespace

std::int64_t readout_key_count(const SimulationOptions& options) {
  if (options.readout_keys != 0) return options.readout_keys;
  return std::clamp<std::int64_t>(options.spec.n / 2, 1, 64);
}

void validate_readout(const SimulationOptions& options) {
  const ParameterFreeSpec& spec = options.spec;
  if (options.readout == 0) {
    if (options.readout_keys == 0) return;
    throw UsageError(
        fmt::format("--readout-keys {}: expected --readout SAMPLES too", options.readout_keys));
  }
  if (options.readout < 1 || options.readout > kMostReadoutSamples) {
    throw UsageError(fmt::format("--readout {}: expected 1 to {} samples", options.readout,
                                 kMostReadoutSamples));
  }
  if (options.shard) {
    throw UsageError(fmt::format(
        "--readout {}: expected no --shard, found {}; make it in a run of its own, which "
        "--samples 1 keeps short",
        options.readout, options.shard->text()));
  }
  const std::int64_t keys = readout_key_count(options);
  const std::int64_t most = std::min(kMostKeys, spec.n - 2);  // two positions to tell apart
  if (most < 1) throw UsageError(fmt::format("--readout: expected --n from 3, found {}", spec.n));
  if (keys < 1 || keys > most) {
    throw UsageError(
        fmt::format("--readout-keys {}: expected 1 to {} with --n {}", keys, most, spec.n));
  }
  for (int layer = 0; layer < spec.layer_count; ++layer) {
    for (std::int64_t query = keys; query < spec.n; ++query) {
      const KeyRange seen = spec.mask_of(layer).keys(query, spec.n);
      if (seen.first == 0 && seen.last >= keys && seen.step == 1) continue;
      throw UsageError(fmt::format(
          "--readout: expected queries from {} on to see keys 0 to {}, found that query "
          "{} does not in layer {} with --mask {}",
          keys, keys - 1, query, layer, spec.mask_text()));
    }
  }
}

std::int64_t readout_bytes(const Plan& plan, int threads) {
  if (plan.options.readout == 0) return 0;
  const std::size_t size = fit_size(static_cast<std::size_t>(readout_key_count(plan.options)));
  const std::int64_t parts = divide(plan, plan.options.readout, size).parts;
  return std::min<std::int64_t>(threads, parts) * BlockRunner::bytes(plan) +
         parts * static_cast<std::int64_t>(plan.layers * size * sizeof(double));
}

Readout read_out(const SimulationOptions& options) {
  SimulationOptions scores_only = options;
  scores_only.variance = scores_only.probs = scores_only.recency = false;
  scores_only.monotonicity = scores_only.hidden_geometry = false;
  const Plan plan(scores_only);
  const auto key_count = static_cast<std::size_t>(readout_key_count(options));
  const std::size_t queries = plan.n - key_count;
  const double rows = static_cast<double>(options.readout) * static_cast<double>(queries);
  const double mean_position = static_cast<double>(key_count + plan.n - 1) / 2;
  const double variance = (static_cast<double>(queries) * static_cast<double>(queries) - 1) / 12;
  Progress progress("readout", 2 * static_cast<double>(options.readout), "samples");
  const Pass pass(plan, key_count, progress);

  const std::size_t size = fit_size(key_count);
  const std::vector<double> sums = pass.sum(
      0, options.readout, size,
      [&](std::size_t, std::size_t query, std::span<const double> scores, std::span<double> to) {
        const double distance = static_cast<double>(query) - mean_position;
        double* products = to.data() + 2 * key_count;
        for (std::size_t a = 0; a < key_count; ++a) {
          to[a] += scores[a];
          to[key_count + a] += scores[a] * distance;
          for (std::size_t b = 0; b <= a; ++b) products[b] += scores[a] * scores[b];
          products += a + 1;
        }
      });
  std::vector<Fit> fits;
  for (std::size_t layer = 0; layer < plan.layers; ++layer) {
    fits.push_back(
        fit(std::span(sums).subspan(layer * size, size), key_count, rows, mean_position));
  }
  const std::vector<double> errors =
      pass.sum(options.readout, options.readout, 2,
               [&](std::size_t layer, std::size_t query, std::span<const double> scores,
                   std::span<double> to) {
                 const Fit& by = fits[layer];
                 const double error = std::inner_product(scores.begin(), scores.end(),
                                                         by.weights.begin(), by.intercept) -
                                      static_cast<double>(query);
                 to[0] += error * error;
                 to[1] += std::abs(error);
               });
  Readout result;
  for (std::size_t layer = 0; layer < plan.layers; ++layer) {
    result.r2.push_back(1 - errors[2 * layer] / rows / variance);
    result.error.push_back(errors[2 * layer + 1] / rows);
    if (!std::isfinite(errors[2 * layer])) {
      throw Error(fmt::format("--readout: layer {}: the scores grow beyond 32-bit floats", layer));
    }
  }
  return result;
}

}  // namespace poslens
