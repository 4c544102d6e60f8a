#include "model/loss.h"

#include <algorithm>
#include <cmath>

#include "model/layer_weights.h"
#include "poslens/threads.h"
#include "simd/layer_kernels.h"

namespace poslens {
namespace {

std::size_t size_of(std::int64_t value) { return static_cast<std::size_t>(value); }

// exp(maximum) * sum is the sum of a block's exponentials.
struct BlockSum {
  float maximum;
  float sum;
};

void finish_logits(const ModelSpec& spec, std::span<float> logits) {
  if (spec.logit_scale != 1) {
    simd::convert(logits, static_cast<float>(spec.logit_scale), logits);
  }
  if (spec.logit_softcap != 0) simd::softcap(logits, static_cast<float>(spec.logit_softcap));
}

double log_sum_exp(std::span<const BlockSum> blocks) {
  float maximum = blocks.front().maximum;
  for (const BlockSum& block : blocks) maximum = std::max(maximum, block.maximum);
  double sum = 0;
  for (const BlockSum& block : blocks) {
    sum += std::exp(double{block.maximum} - maximum) * block.sum;
  }
  return maximum + std::log(sum);
}

}  // namespace

template <typename T>
void add_loss(const Checkpoint& checkpoint, const ModelSpec& spec, const LossBlocks& blocks,
              std::int64_t length, std::span<const T> states, std::span<const std::int32_t> ids,
              std::vector<LossScratch<T>>& scratch, std::vector<Products>& products,
              std::vector<double>& sums) {
  const TensorEntry& head = checkpoint.require(spec.head.weight, {spec.vocabulary, spec.hidden});
  const std::vector<float> bias = spec.head.bias.empty()
                                      ? std::vector<float>()
                                      : load_vector(checkpoint, spec.head.bias, spec.vocabulary);
  const std::int64_t tokens = std::ssize(ids);
  const std::int64_t count = (spec.vocabulary + blocks.vocabulary - 1) / blocks.vocabulary;
  std::vector<BlockSum> parts(size_of(tokens * count));  // [tokens, vocabulary blocks]
  std::vector<float> targets(size_of(tokens));           // logit of the token that follows
  parallel_for(size_of(count), [&](std::size_t block, int worker) {
    LossScratch<T>& own = scratch[size_of(worker)];
    const std::int64_t first = static_cast<std::int64_t>(block) * blocks.vocabulary;
    const std::int64_t rows = std::min(blocks.vocabulary, spec.vocabulary - first);
    own.logits.resize(size_of(blocks.tokens * blocks.vocabulary));
    load_rows(head, first, rows, own.head.resize(rows, spec.hidden), own.expanded);
    own.head.pack();
    for (std::int64_t t0 = 0; t0 < tokens; t0 += blocks.tokens) {
      own.states.set(blocks.tokens, states.data() + t0 * spec.hidden);
      products[size_of(worker)].run(own.states, own.head, 0, false, own.logits.data());
      for (std::int64_t t = t0; t < std::min(t0 + blocks.tokens, tokens); ++t) {
        if (t % length == length - 1) continue;  // nothing follows
        const auto logits = own.logits.part(size_of((t - t0) * rows), size_of(rows));
        if (!bias.empty()) {
          simd::add_scaled(std::span(bias).subspan(size_of(first), logits.size()), 1, logits);
        }
        finish_logits(spec, logits);
        const float maximum = simd::maximum(logits);
        parts[size_of(t * count) + block] = {maximum, simd::sum_exp(logits, maximum)};
        const std::int64_t target = ids[size_of(t + 1)] - first;
        if (target >= 0 && target < rows) targets[size_of(t)] = logits[size_of(target)];
      }
    }
  });
  for (std::int64_t t = 0; t < tokens; ++t) {
    if (t % length == length - 1) continue;
    const std::span<const BlockSum> own{parts.data() + t * count, size_of(count)};
    sums[size_of(t % length)] += log_sum_exp(own) - targets[size_of(t)];
  }
}
template void add_loss(const Checkpoint&, const ModelSpec&, const LossBlocks&, std::int64_t,
                       std::span<const float>, std::span<const std::int32_t>,
                       std::vector<LossScratch<float>>&, std::vector<Products>&,
                       std::vector<double>&);
template void add_loss(const Checkpoint&, const ModelSpec&, const LossBlocks&, std::int64_t,
                       std::span<const simd::BFloat16>, std::span<const std::int32_t>,
                       std::vector<LossScratch<simd::BFloat16>>&, std::vector<Products>&,
                       std::vector<double>&);

}  // namespace poslens
