#include "model/hidden_sums.h"

#include <algorithm>
#include <span>
#include <utility>

#include "poslens/threads.h"
#include "simd/model_kernels.h"

namespace poslens {
namespace {

std::size_t size_of(std::int64_t value) { return static_cast<std::size_t>(value); }

}  // namespace

HiddenSums::HiddenSums(const DecoderOptions& options, const std::vector<int>& layers,
                       std::int64_t length, std::int64_t width)
    : length_(length), width_(width) {
  if (!options.hidden) return;
  inputs_ = layers;
  inputs_.push_back(layers.back() + 1);
  sums_.assign(inputs_.size() * size_of(length * width), 0);
}

void HiddenSums::add(int layer, const float* stream, std::int64_t sequences) {
  const auto found = std::find(inputs_.begin(), inputs_.end(), layer);
  if (found == inputs_.end()) return;
  float* plane = sums_.data() + (found - inputs_.begin()) * length_ * width_;
  parallel_for(size_of(length_), [&](std::size_t position, int) {
    const std::int64_t row = static_cast<std::int64_t>(position) * width_;
    for (std::int64_t s = 0; s < sequences; ++s) {
      simd::add_scaled({stream + s * length_ * width_ + row, size_of(width_)}, 1,
                       {plane + row, size_of(width_)});
    }
  });
}

void HiddenSums::add_to(RunState& state) {
  if (!sums_.empty()) state.arrays.push_back({"hidden", std::span(sums_)});
}

void HiddenSums::finish(std::int64_t sequences, ScoreMap& map) {
  if (sums_.empty()) return;
  for (float& value : sums_) value /= static_cast<float>(sequences);
  map.hidden_width = width_;
  map.hidden = std::move(sums_);
}

std::int64_t HiddenSums::bytes(const DecoderOptions& options, std::int64_t layers,
                               std::int64_t length, std::int64_t width) {
  return options.hidden ? (layers + 1) * length * width * std::int64_t{sizeof(float)} : 0;
}

}  // namespace poslens
