#include "simulation/block.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simulation/block.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "simulation/inputs-inl.h"
#include "simulation/layer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace poslens::HWY_NAMESPACE {
namespace {

// Adds up the lanes of each of the sums.
void Reduce(const Plan& plan, const LaneSums& sums, std::vector<double>& out) {
  const FloatTag d;
  out.resize(sums.size);
  for (std::size_t i = 0; i < sums.size; ++i) {
    out[i] = plan.lane_sums
                 ? hn::GetLane(hn::SumOfLanes(d, hn::Load(d, &sums.values[i * hn::Lanes(d)])))
                 : sums.values[i];
  }
}

void RunBlock(const Plan& plan, const BlockSamples& block, BlockBuffers& buffers) {
  const FloatTag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const InputKernel inputs(plan, buffers);
  LayerKernel kernel(plan, buffers);
  for (std::int64_t start = 0; start < block.count; start += lanes) {
    std::uint64_t samples[kMaxLanes];
    HWY_ALIGN float live[kMaxLanes];
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      // Lanes beyond the end repeat the last sample and do not count.
      const std::int64_t index = std::min(start + lane, block.count - 1);
      const std::int64_t sample =
          block.inputs == nullptr ? block.first + index * block.stride : index;
      samples[lane] = static_cast<std::uint64_t>(sample);
      live[lane] = start + lane < block.count ? 1.0f : 0.0f;
    }
    buffers.live_lanes = static_cast<std::size_t>(std::min(lanes, block.count - start));
    if (block.inputs == nullptr) {
      inputs.Draw(SampleLanes(plan.options.seed, samples));
    } else {
      inputs.Copy(block.inputs, samples);
    }
    if (plan.options.hidden_geometry) KeepMeans(plan, buffers);
    kernel.Prepare();
    for (std::size_t layer = 0; layer < plan.layers; ++layer) {
      if (plan.options.hidden_geometry) GeometryKernel(plan, layer, buffers).Sum(hn::Load(d, live));
      kernel.Run(layer, hn::Load(d, live), start == 0);
    }
    if (plan.options.hidden_geometry) {
      GeometryKernel(plan, plan.layers, buffers).Sum(hn::Load(d, live));
    }
  }
  BlockSums& sums = buffers.sums;
  Reduce(plan, buffers.score_sums, sums.scores);
  Reduce(plan, buffers.prob_sums, sums.probs);
  Reduce(plan, buffers.square_sums, sums.squares);
}

}  // namespace
}  // namespace poslens::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace poslens {

HWY_EXPORT(RunBlock);

namespace {

// Lane vectors of the scores of the panel that has most of them.
std::size_t most_scores(const Plan& plan) {
  std::size_t most = 0;
  for (const Panel& panel : plan.panels) {
    most = std::max(most, (panel.last_keys - panel.first_keys) * kPanelRows * kPanelRows);
  }
  return most;
}

}  // namespace

BlockBuffers::BlockBuffers(const Plan& plan)
    : x(lane_buffer(plan.coordinate_count)),
      scale(lane_buffer(plan.panels.size() * kPanelRows)),
      weight(lane_buffer(plan.panels.size() * kPanelRows)),
      shared(lane_buffer(plan.group_size)),
      score_sums(plan, true),
      square_sums(plan, plan.options.variance),
      prob_sums(plan, plan.options.probs) {
  if (!plan.in_place) {
    next_x = lane_buffer(plan.coordinate_count);
    next_weight = lane_buffer(plan.panels.size() * kPanelRows);
  }
  if (plan.options.spec.rope_theta) rotated = lane_buffer(plan.coordinate_count);
  scores = lane_buffer(most_scores(plan));
  if (plan.options.variance) pivots = lane_buffer(score_sums.size / kMaxLanes + 1);
  sums.recency.resize(plan.layers);
  sums.monotone.resize(plan.layers);
  if (plan.options.hidden_geometry) {
    const std::size_t rows = plan.panels.size() * kPanelRows;
    if (plan.options.spec.norm == Norm::layernorm) means = lane_buffer(rows);
    inverse_norms = lane_buffer(rows);
    sums.hidden_norms.resize((plan.layers + 1) * plan.n);
    sums.hidden_cosines.resize((plan.layers + 1) * triangle_size(plan.n));
  }
}

std::int64_t BlockRunner::bytes(const Plan& plan) {
  const SimulationOptions& options = plan.options;
  const std::size_t next = plan.in_place ? 0 : 1, geometry = options.hidden_geometry ? 1 : 0;
  const std::size_t rows = plan.panels.size() * kPanelRows;
  const std::size_t sums = std::size_t{1} + (options.variance ? 1 : 0) + (options.probs ? 1 : 0);
  const std::size_t size = plan.layers * plan.score_count;  // of one kind of sums
  std::size_t vectors = plan.coordinate_count * (1 + next + (options.spec.rope_theta ? 1 : 0)) +
                        rows * (2 + next + 2 * geometry) + plan.group_size + most_scores(plan);
  vectors += sums * (plan.lane_sums ? size : size / kMaxLanes);
  if (options.variance) vectors += size / kMaxLanes;
  std::size_t doubles = sums * size;
  doubles += geometry * (plan.layers + 1) * (plan.n + triangle_size(plan.n));
  return static_cast<std::int64_t>(vectors * kMaxLanes * sizeof(float) + doubles * sizeof(double));
}

BlockRunner::BlockRunner(const Plan& plan)
    : plan_(&plan), buffers_(std::make_unique<BlockBuffers>(plan)) {}
BlockRunner::~BlockRunner() = default;
BlockRunner::BlockRunner(BlockRunner&&) noexcept = default;

const BlockSums& BlockRunner::run(const BlockSamples& samples, const TakeScores& take) {
  BlockBuffers& buffers = *buffers_;
  buffers.take = take;
  buffers.score_sums.clear();
  buffers.square_sums.clear();
  buffers.prob_sums.clear();
  std::fill(buffers.sums.recency.begin(), buffers.sums.recency.end(), 0);
  std::fill(buffers.sums.monotone.begin(), buffers.sums.monotone.end(), 0);
  std::fill(buffers.sums.hidden_norms.begin(), buffers.sums.hidden_norms.end(), 0);
  std::fill(buffers.sums.hidden_cosines.begin(), buffers.sums.hidden_cosines.end(), 0);
  HWY_DYNAMIC_DISPATCH(RunBlock)(*plan_, samples, buffers);
  if (plan_->options.variance) {
    // From sums of S - pivot and (S - pivot)^2 to sums of S and S^2.
    const auto count = static_cast<double>(samples.count);
    for (std::size_t i = 0; i < buffers.sums.scores.size(); ++i) {
      const double pivot = buffers.pivots[i], difference = buffers.sums.scores[i];
      buffers.sums.squares[i] += 2 * pivot * difference + count * pivot * pivot;
      buffers.sums.scores[i] += count * pivot;
    }
  }
  return buffers.sums;
}

}  // namespace poslens
#endif  // HWY_ONCE
