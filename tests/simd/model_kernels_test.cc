// Every kernel against its scalar twin, at every length 1..130, on every instruction set of this
// processor, Highway's scalar one included.
#include "simd/model_kernels.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "simd/kernel_test.h"

namespace poslens::simd {
namespace {

class ModelKernels : public KernelTest {};

TEST_P(ModelKernels, Convert) {
  const std::vector<float> x = normals(kLongest, 0);
  check_both([&](std::size_t n, auto out) { convert(head(x, n), 0.7f, out); },
             [&](std::size_t n, auto out) { simple_convert(head(x, n), 0.7f, out); });
}

TEST_P(ModelKernels, BFloat16RoundsToNearestEven) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {
      1.0f,     1.00390625f, 1.01171875f, 1.003906369f,          -1.00390625f, 0.0f,     -0.0f,
      infinity, -infinity,   3.4e38f,     std::nanf("0x7fffff"), 1e-40f,       65504.0f, -1.5e-5f};
  std::vector<BFloat16> out(x.size());
  convert(x, 1, out);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(out[i].bits, simple_to_bfloat16(x[i]).bits) << x[i];
  }
  EXPECT_EQ(out[1].bits, 0x3f80);  // half way, the even neighbour is below
  EXPECT_EQ(out[2].bits, 0x3f82);  // half way, the even neighbour is above
  EXPECT_EQ(out[3].bits, 0x3f81);
}

TEST_P(ModelKernels, SplitsIntoThreePartsThatAddUpExactly) {
  std::vector<float> x = normals(kLongest, 0);
  x[0] = 0x1.fffffep127f;  // rounding its first part would overflow
  x[1] = -0x1.fffffep-100f;
  x[2] = 0;
  x[3] = -std::numeric_limits<float>::infinity();
  for (std::size_t n = 1; n <= kLongest; ++n) {
    std::vector<BFloat16> found[3];
    std::vector<BFloat16> expected[3];
    for (auto& part : found) part.resize(n);
    for (auto& part : expected) part.resize(n);
    split(head(x, n), found[0], found[1], found[2]);
    simple_split(head(x, n), expected[0], expected[1], expected[2]);
    for (std::size_t i = 0; i < n; ++i) {
      for (int part = 0; part < 3; ++part) EXPECT_EQ(found[part][i].bits, expected[part][i].bits);
      EXPECT_EQ(to_float(found[0][i]) + (to_float(found[1][i]) + to_float(found[2][i])), x[i]);
    }
  }
}

TEST_P(ModelKernels, AddScaled) {
  const std::vector<float> x = normals(kLongest, 0);
  const std::vector<float> y = normals(kLongest + 1, 1);
  for (std::size_t n = 1; n <= kLongest; ++n) {
    std::vector<float> expected = y;
    simple_add_scaled(head(x, n), -1.3f, std::span(expected).first(n));
    std::vector<float> found = y;
    add_scaled(head(x, n), -1.3f, std::span(found).first(n));
    expect_near(found, expected, 1e-6);
  }
}

TEST_P(ModelKernels, RmsNorm) {
  const std::vector<float> x = normals(kLongest, 0, 3);
  const std::vector<float> weight = normals(kLongest, 1);
  check_both(
      [&](std::size_t n, auto out) { rms_norm(head(x, n), head(weight, n), 1e-2f, out); },
      [&](std::size_t n, auto out) { simple_rms_norm(head(x, n), head(weight, n), 1e-2f, out); });
}

TEST_P(ModelKernels, SiluMultiply) {
  const std::vector<float> gate = normals(kLongest, 0, 20);
  const std::vector<float> up = normals(kLongest, 1);
  check_both(
      [&](std::size_t n, auto out) { silu_multiply(head(gate, n), head(up, n), out); },
      [&](std::size_t n, auto out) { simple_silu_multiply(head(gate, n), head(up, n), out); });
  check_both([&](std::size_t n, auto out) { silu_multiply(head(gate, n), {}, out); },
             [&](std::size_t n, auto out) { simple_silu_multiply(head(gate, n), {}, out); });
}

TEST_P(ModelKernels, SiluOfLargeNumbers) {
  const std::vector<float> gate = {-1e30f, -200, -90, 90, 200, 1e30f};
  const std::vector<float> up(gate.size(), 1);
  std::vector<float> out(gate.size());
  silu_multiply(gate, up, out);
  const std::vector<float> expected = {0, 0, 0, 90, 200, 1e30f};
  expect_near(out, expected, 1e-6);
}

TEST_P(ModelKernels, Rotate) {
  const std::vector<float> x = normals(kLongest, 0);
  const std::vector<float> cosine = normals(kLongest, 1);
  const std::vector<float> sine = normals(kLongest, 2);
  for (const bool interleaved : {false, true}) {
    for (const bool whole_head : {false, true}) {
      const auto pairs = [&](std::size_t n) { return whole_head ? n / 2 : n / 3; };
      check_both(
          [&](std::size_t n, auto out) {
            rotate(head(x, n), head(cosine, pairs(n)), head(sine, pairs(n)), interleaved, 0.3f,
                   out);
          },
          [&](std::size_t n, auto out) {
            simple_rotate(head(x, n), head(cosine, pairs(n)), head(sine, pairs(n)), interleaved,
                          0.3f, out);
          });
    }
  }
}

TEST_P(ModelKernels, Maximum) {
  std::vector<float> x = normals(kLongest, 0);
  for (float& value : x) value -= 100;  // a lane that is not filled must not win
  for (std::size_t n = 1; n <= kLongest; ++n) {
    EXPECT_EQ(maximum(head(x, n)), simple_maximum(head(x, n)));
  }
  EXPECT_EQ(maximum({}), -std::numeric_limits<float>::infinity());
}

TEST_P(ModelKernels, AddAndMaximum) {
  std::vector<float> x = normals(kLongest, 0);
  for (float& value : x) value -= 100;
  const std::vector<float> sum = normals(kLongest + 1, 1);
  for (std::size_t n = 1; n <= kLongest; ++n) {
    std::vector<float> expected = sum;
    std::vector<float> found = sum;
    EXPECT_EQ(add_and_maximum(head(x, n), std::span(found).first(n)),
              simple_add_and_maximum(head(x, n), std::span(expected).first(n)));
    EXPECT_EQ(found, expected);
  }
}

TEST_P(ModelKernels, ExpSums) {
  std::vector<float> x = normals(kLongest + 1, 0, 30);
  const float shift = simple_maximum(x);
  x.back() = kGuard;
  for (std::size_t n = 1; n <= kLongest; ++n) {
    std::vector<float> expected = x;
    const float sum = simple_exp_and_sum(head(x, n), shift, std::span(expected).first(n));
    std::vector<float> found = x;
    EXPECT_NEAR(exp_and_sum(head(found, n), shift, std::span(found).first(n)), sum,
                1e-6 * sum + 1e-36);
    std::vector<BFloat16> rounded(n + 1, BFloat16{7});
    EXPECT_NEAR(exp_and_sum(head(x, n), shift, std::span(rounded).first(n)), sum,
                8e-5 * sum + 1e-36);
    EXPECT_EQ(rounded[n].bits, 7);
    EXPECT_NEAR(sum_exp(head(x, n), shift), sum, 1e-6 * sum + 1e-36);
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_NEAR(found[i], expected[i], 4e-7 * expected[i] + 1e-37) << x[i] - shift;
      ASSERT_NEAR(to_float(rounded[i]), expected[i], (0x1p-8 + 8e-5) * expected[i] + 1e-37);
    }
    EXPECT_EQ(found[n], expected[n]);
  }
}

TEST_P(ModelKernels, Welford) {
  const std::vector<float> x = normals(kLongest, 0);
  const std::vector<float> means = normals(kLongest + 1, 1);
  const std::vector<float> squares = normals(kLongest + 1, 2);
  for (std::size_t n = 1; n <= kLongest; ++n) {
    std::vector<float> expected_mean = means;
    std::vector<float> expected = squares;
    simple_welford(head(x, n), 0.25f, 3, std::span(expected_mean).first(n),
                   std::span(expected).first(n));
    std::vector<float> found_mean = means;
    std::vector<float> found = squares;
    welford(head(x, n), 0.25f, 3, std::span(found_mean).first(n), std::span(found).first(n));
    expect_near(found_mean, expected_mean, 1e-6);
    expect_near(found, expected, 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ModelKernels, every_target(), target_name);

}  // namespace
}  // namespace poslens::simd
