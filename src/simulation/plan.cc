#include "simulation/plan.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "poslens/rotary.h"

namespace poslens {
namespace {

std::size_t ceil_divide(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

// Beyond this the sums of one layer and lane are too many to keep per lane.
constexpr std::size_t kLaneSumBytes = std::size_t{16} << 20;
// Multiply-adds of a block: a few milliseconds of one core.
constexpr double kBlockWork = 1.5e8;

}  // namespace

Plan::Plan(const SimulationOptions& simulation) : options(simulation) {
  const ParameterFreeSpec& spec = options.spec;
  triangular = choose_engine(options) == Engine::triangular;
  n = static_cast<std::size_t>(spec.n);
  layers = static_cast<std::size_t>(spec.layer_count);
  dims = static_cast<std::size_t>(spec.dim);
  in_place = spec.is_causal();
  if (triangular && spec.norm == Norm::layernorm) --dims;
  plan_inputs();
  if (spec.norm == Norm::layernorm || spec.norm == Norm::rmsnorm) {
    norm_output = std::sqrt(static_cast<double>(spec.dim));
  }
  score_factor = spec.scale() * norm_output * norm_output;
  slope = spec.alibi_slope.value_or(0);
  if (const auto rotary = spec.rotary()) {
    rotary_gain = std::max(1.0, rotary->attention_factor * rotary->attention_factor);
    RotaryTable table = rotary_table(*rotary, 0, spec.n);
    cosine = std::move(table.cosine);
    sine = std::move(table.sine);
  }
  own_score_known = spec.norm != Norm::none && rotary_gain == 1;
  own_score_largest = own_score_known && slope == 0;

  panels.resize(ceil_divide(n, kPanelRows));
  for (std::size_t p = 0; p < panels.size(); ++p) {
    Panel& panel = panels[p];
    const std::size_t first = p * kPanelRows;
    panel.rows = std::min(kPanelRows, n - first);
    panel.width = triangular ? std::min(dims, first + kPanelRows + shared) : dims;
    panel.solid = triangular ? std::min(dims, first + shared) : dims;
    panel.offset = coordinate_count;
    coordinate_count += kPanelRows * panel.width;
    KeyRange keys{spec.n, 0};  // of all rows and layers
    for (int layer = 0; layer < (spec.layer_masks.empty() ? 1 : spec.layer_count); ++layer) {
      for (std::size_t row = first; row < first + panel.rows; ++row) {
        const KeyRange own = spec.mask_of(layer).keys(static_cast<std::int64_t>(row), spec.n);
        keys = {std::min(keys.first, own.first), std::max(keys.last, own.last)};
      }
    }
    panel.first_keys = static_cast<std::size_t>(keys.first) / kPanelRows;
    panel.last_keys = ceil_divide(static_cast<std::size_t>(keys.last), kPanelRows);
    panel.score_offset = score_count;
    score_count += (panel.last_keys - panel.first_keys) * kPanelRows * kPanelRows;
  }
  for (int layer = 0; layer < (spec.layer_masks.empty() ? 1 : spec.layer_count); ++layer) {
    for (std::size_t query = 0; query < n; ++query) {
      const KeyRange keys = spec.mask_of(layer).keys(static_cast<std::int64_t>(query), spec.n);
      const std::size_t start = panels[query / kPanelRows].first_keys * kPanelRows;
      local_keys.push_back({static_cast<std::size_t>(keys.first) - start,
                            static_cast<std::size_t>(keys.last) - start,
                            static_cast<std::size_t>(keys.step)});
    }
  }
  double work = 0;  // multiply-adds of a layer: 16 pairs of rows, once for S and once for A Y
  for (const Panel& panel : panels) {
    for (std::size_t keys = panel.first_keys; keys < panel.last_keys; ++keys) {
      work += 32.0 * static_cast<double>(std::min(panel.width, panels[keys].width));
    }
  }
  work *= static_cast<double>(layers);
  const auto samples = static_cast<std::uint64_t>(std::clamp(kBlockWork / work, 16.0, 1024.0));
  block_samples = static_cast<std::int64_t>(std::bit_floor(samples));
  lane_sums = layers * score_count * kMaxLanes * sizeof(float) <= kLaneSumBytes;
}

void Plan::plan_inputs() {
  const ParameterFreeSpec& spec = options.spec;
  group_of_token = spec.group_of_tokens();
  input_groups.resize(spec.token_groups.size() + 1);
  std::vector<bool> has_tokens(input_groups.size());
  for (const std::size_t group : group_of_token) has_tokens[group] = true;
  const double between = spec.token_groups.empty() ? spec.alpha : spec.alpha_between;
  std::size_t vectors = between > 0 ? 1 : 0;
  for (std::size_t g = 0; g < input_groups.size(); ++g) {
    InputGroup& group = input_groups[g];
    const double alpha = spec.alpha_of_group(g);
    group.gaussian_scale = static_cast<float>(spec.input_norm * std::sqrt((1 - alpha) / spec.dim));
    if (!has_tokens[g] || alpha == 0) continue;
    group.common_weight = static_cast<float>(std::sqrt(between / (1 - alpha)));
    group.own_weight = static_cast<float>(std::sqrt((alpha - between) / (1 - alpha)));
    if (group.own_weight > 0) group.own = vectors++;
    group.width = triangular ? std::min(group.own + 1, dims) : dims;
    group.offset = group_size;
    group_size += group.width + 1;
  }
  if (triangular) shared = std::min(vectors, dims);
}

double Plan::norm_bound(std::size_t layer) const {
  const ParameterFreeSpec& spec = options.spec;
  // A Gaussian input's square norm is below 96 X^2: a coordinate that is 9.8 standard deviations
  // away is too rare to be seen.
  double bound = spec.input_norm * (spec.inputs == Inputs::gaussian ? std::sqrt(96.0) : 1);
  for (; layer > 0; --layer) {
    bound = spec.residual * bound + (spec.norm == Norm::none ? bound : norm_output);
  }
  return bound;
}

double Plan::score_bound(std::size_t layer) const {
  const double bias = slope * static_cast<double>(n - 1);
  if (options.spec.norm != Norm::none) return score_factor * rotary_gain + bias;
  const double norm = norm_bound(layer);
  return score_factor * rotary_gain * norm * norm + bias;
}

}  // namespace poslens
