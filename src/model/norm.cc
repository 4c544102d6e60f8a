#include "model/norm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/layer_weights.h"
#include "poslens/error.h"

namespace poslens {
namespace {

// The elements of some tensors, one tensor after the other.
std::vector<float> load_joined(const Checkpoint& checkpoint,
                               const std::vector<std::string>& names) {
  std::vector<float> values;
  for (const std::string& name : names) {
    const TensorEntry* tensor = checkpoint.find(name);
    if (tensor == nullptr) {
      throw Error(fmt::format("{}: expected tensor {}, found none of that name",
                              checkpoint.path().string(), name));
    }
    const std::size_t before = values.size();
    values.resize(before + static_cast<std::size_t>(tensor->elements()));
    expand_rows(*tensor, 0, tensor->elements() / tensor->shape.back(),
                std::span(values).subspan(before));
  }
  return values;
}

NormWeights load(const Checkpoint& checkpoint, const NormSpec& spec, std::int64_t size,
                 std::int64_t other_size) {
  NormWeights norm{spec.kind, static_cast<float>(spec.epsilon), {}, {}};
  if (spec.kind == NormSpec::Kind::none) return norm;
  norm.weight = spec.weight.empty() ? std::vector<float>(static_cast<std::size_t>(size), 1.0f)
                                    : load_joined(checkpoint, spec.weight);
  const std::int64_t found = std::ssize(norm.weight);
  if (found != size && found != other_size) {
    throw Error(fmt::format(
        "{}: norm {}: expected {} elements, found {}", checkpoint.path().string(),
        fmt::join(spec.weight, ", "),
        size == other_size ? std::to_string(size) : fmt::format("{} or {}", size, other_size),
        found));
  }
  if (spec.adds_one) {
    for (float& weight : norm.weight) weight += 1;
  }
  if (spec.kind == NormSpec::Kind::layer) {
    norm.bias = spec.bias.empty() ? std::vector<float>(norm.weight.size())
                                  : load_vector(checkpoint, spec.bias, found);
  }
  return norm;
}

}  // namespace

NormWeights load_norm(const Checkpoint& checkpoint, const NormSpec& spec, std::int64_t size) {
  return load(checkpoint, spec, size, size);
}

NormWeights load_head_norm(const Checkpoint& checkpoint, const NormSpec& spec, std::int64_t heads,
                           std::int64_t size) {
  return load(checkpoint, spec, size, heads * size);
}

template <typename T>
void apply_norm(const NormWeights& norm, std::span<const float> x, std::span<T> out,
                std::size_t first) {
  const auto part = [&](const std::vector<float>& values) {
    return std::span(values).subspan(first, x.size());
  };
  switch (norm.kind) {
    case NormSpec::Kind::none:
      simd::convert(x, 1, out);
      break;
    case NormSpec::Kind::rms:
      simd::rms_norm(x, part(norm.weight), norm.epsilon, out);
      break;
    case NormSpec::Kind::layer:
      simd::layer_norm(x, part(norm.weight), part(norm.bias), norm.epsilon, out);
      break;
  }
}
template void apply_norm(const NormWeights&, std::span<const float>, std::span<float>, std::size_t);
template void apply_norm(const NormWeights&, std::span<const float>, std::span<simd::BFloat16>,
                         std::size_t);

}  // namespace poslens
