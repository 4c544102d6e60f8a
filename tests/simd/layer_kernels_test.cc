// Every kernel against its scalar twin, at every length 1..130, on every instruction set of this
// processor.
#include "simd/layer_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "simd/kernel_test.h"

namespace poslens::simd {
namespace {

class LayerKernels : public KernelTest {};

TEST_P(LayerKernels, LayerNorm) {
  std::vector<float> x = normals(kLongest, 0, 3);
  for (float& value : x) value += 2;  // padding with zeros must not show
  const std::vector<float> weight = normals(kLongest, 1);
  const std::vector<float> bias = normals(kLongest, 2);
  check_both([&](std::size_t n,
                 auto out) { layer_norm(head(x, n), head(weight, n), head(bias, n), 1e-2f, out); },
             [&](std::size_t n, auto out) {
               simple_layer_norm(head(x, n), head(weight, n), head(bias, n), 1e-2f, out);
             });
}

TEST_P(LayerKernels, Gelu) {
  const std::vector<float> x = normals(kLongest, 0);
  const std::vector<float> up = normals(kLongest, 1);
  for (const bool gated : {false, true}) {
    const auto factor = [&](std::size_t n) {
      return gated ? head(up, n) : std::span<const float>();
    };
    check_both([&](std::size_t n, auto out) { gelu_multiply(head(x, n), factor(n), out); },
               [&](std::size_t n, auto out) { simple_gelu_multiply(head(x, n), factor(n), out); });
    check_both(
        [&](std::size_t n, auto out) { gelu_tanh_multiply(head(x, n), factor(n), out); },
        [&](std::size_t n, auto out) { simple_gelu_tanh_multiply(head(x, n), factor(n), out); });
  }
}

// Over all of the range where the functions bend, and where powers overflow.
TEST_P(LayerKernels, GeluEverywhere) {
  std::vector<float> x = {-1e30f, -200, -21, 21, 200, 1e30f};
  for (int i = -6000; i <= 6000; ++i) x.push_back(static_cast<float>(i) * 1e-3f);
  std::vector<float> found(x.size());
  std::vector<float> expected(x.size());
  gelu_multiply(x, {}, found);
  simple_gelu_multiply(x, {}, expected);
  expect_near(found, expected, 1.5e-6);
  gelu_tanh_multiply(x, {}, found);
  simple_gelu_tanh_multiply(x, {}, expected);
  expect_near(found, expected, 1.5e-6);
}

TEST_P(LayerKernels, InPlace) {
  const std::vector<float> start = normals(kLongest + 1, 0, 40);
  for (std::size_t n = 1; n <= kLongest; ++n) {
    std::vector<float> found = start;
    std::vector<float> expected = start;
    softcap(std::span(found).first(n), 30);
    simple_softcap(std::span(expected).first(n), 30);
    expect_near(found, expected, 1e-6);
    clip(std::span(found).first(n), 2.5f);
    simple_clip(std::span(expected).first(n), 2.5f);
    expect_near(found, expected, 1e-6);
  }
}

TEST_P(LayerKernels, SoftcapOfLargeNumbers) {
  std::vector<float> x = {-1e30f, -3000, 3000, 1e30f, 0};
  softcap(x, 50);
  expect_near(x, std::vector<float>{-50, -50, 50, 50, 0}, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Targets, LayerKernels, every_target(), target_name);

}  // namespace
}  // namespace poslens::simd
