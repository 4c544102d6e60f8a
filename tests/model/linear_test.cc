// Products with weight matrices: whole and in panels, and f32 ones whose weights are bf16 numbers.

#include "model/linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "poslens/random.h"

namespace poslens {
namespace {

constexpr std::int64_t kRows = 32;

// f32 weights and rows of very different sizes; the weights are exactly bf16 when asked.
struct Factors {
  Factors(std::int64_t outputs, std::int64_t inputs, bool bf16) : weights(outputs * inputs) {
    RandomStream random(7, 0);
    for (float& w : weights) {
      w = static_cast<float>(random.normal());
      if (bf16) w = simd::to_float(simd::simple_to_bfloat16(w));
    }
    for (std::int64_t i = 0; i < kRows * inputs; ++i) {
      rows.push_back(static_cast<float>(random.normal() * std::exp(random.normal())));
    }
  }

  std::vector<float> weights;  // [outputs, inputs]
  std::vector<float> rows;     // [kRows, inputs]
};

// Largest error of a product W x, panel after panel along the outputs or summed along the inputs,
// in units of 2^-24 sum |x w|: that of one rounding of every term to f32.
double largest_error(std::int64_t outputs, std::int64_t inputs, CutAlong cut, bool bf16) {
  const Factors factors(outputs, inputs, bf16);
  WeightMatrix<float> matrix;
  std::copy(factors.weights.begin(), factors.weights.end(), matrix.resize(outputs, inputs, cut));
  matrix.pack();
  Products products;
  std::vector<float> found(static_cast<std::size_t>(kRows * outputs), 1);
  std::int64_t first = 0;  // output or input of the panel
  for (std::int64_t panel = 0; panel < matrix.panels(); ++panel) {
    const std::int64_t n = matrix.panel_outputs(panel);
    const std::int64_t k = matrix.panel_inputs(panel);
    const bool along_inputs = cut == CutAlong::inputs;
    std::vector<float> x;
    for (std::int64_t row = 0; row < kRows; ++row) {
      const auto begin = factors.rows.begin() + row * inputs + (along_inputs ? first : 0);
      x.insert(x.end(), begin, begin + k);
    }
    LeftFactor<float> left;
    left.set(kRows, x.data());
    std::vector<float> y(static_cast<std::size_t>(kRows * n), 5);
    products.run(left, matrix, panel, false, y.data());
    products.run(left, matrix, panel, true, y.data());  // twice the product
    for (std::int64_t row = 0; row < kRows; ++row) {
      for (std::int64_t o = 0; o < n; ++o) {
        found[row * outputs + o + (along_inputs ? 0 : first)] += y[row * n + o] / 2;
      }
    }
    first += along_inputs ? k : n;
  }
  EXPECT_EQ(first, cut == CutAlong::inputs ? inputs : outputs);
  double worst = 0;
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t o = 0; o < outputs; ++o) {
      double sum = 1;
      double size = 1;
      for (std::int64_t i = 0; i < inputs; ++i) {
        const double term =
            double{factors.rows[row * inputs + i]} * factors.weights[o * inputs + i];
        sum += term;
        size += std::abs(term);
      }
      const double error = std::abs(found[row * outputs + o] - sum);
      worst = std::max(worst, error / (std::exp2(-24) * size));
    }
  }
  return worst;
}

// A product of bf16 parts that dropped one of them would err by 2^-17 of its terms, 100 of these
// units, and sums in f32 err by a few.
constexpr double kUnits = 12;

TEST(Linear, F32ProductsRoundAsSumsInF32Do) {
  for (const bool bf16 : {false, true}) {
    EXPECT_LT(largest_error(24, 40, CutAlong::nothing, bf16), kUnits);
    EXPECT_LT(largest_error(192, 576, CutAlong::nothing, bf16), kUnits);
    EXPECT_LT(largest_error(64, 4096, CutAlong::nothing, bf16), kUnits);  // too long to be packed
  }
}

TEST(Linear, PanelsMakeUpTheWhole) {
  for (const bool bf16 : {false, true}) {
    for (const std::int64_t width : {40, 512, 513, 1100, 1536}) {
      EXPECT_LT(largest_error(width, 64, CutAlong::outputs, bf16), kUnits) << width;
      EXPECT_LT(largest_error(64, width, CutAlong::inputs, bf16), kUnits) << width;
    }
    EXPECT_LT(largest_error(1100, 2100, CutAlong::outputs, bf16), kUnits);  // panels of plain rows
  }
}

TEST(Linear, PanelsOfOutputsAndInputsMatch) {
  for (const std::int64_t width : {1, 40, 511, 513, 1100, 11008, 14336}) {
    WeightMatrix<float> up;
    WeightMatrix<float> down;
    up.resize(width, 3, CutAlong::outputs);
    down.resize(2, width, CutAlong::inputs);
    ASSERT_EQ(up.panels(), down.panels()) << width;
    std::int64_t sum = 0;
    for (std::int64_t panel = 0; panel < up.panels(); ++panel) {
      EXPECT_EQ(up.first_output(panel), sum);
      EXPECT_EQ(up.panel_outputs(panel), down.panel_inputs(panel));
      EXPECT_EQ(up.panel_inputs(panel), 3);
      EXPECT_EQ(down.panel_outputs(panel), 2);
      EXPECT_GT(up.panel_outputs(panel), 0);
      sum += up.panel_outputs(panel);
    }
    EXPECT_EQ(sum, width);
  }
}

}  // namespace
}  // namespace poslens
