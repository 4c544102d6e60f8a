#pragma once
// The parameter-free Transformer as one reads it, in double precision: what the fast engines must
// equal on the same inputs.

#include <algorithm>
#include <cmath>
#include <vector>

#include "poslens/matrix.h"
#include "poslens/parameter_free.h"

namespace poslens::test {

// Y = Norm(X), row by row.
inline Matrix<double> simple_norm(const Matrix<double>& x, Norm norm) {
  Matrix<double> y = x;
  const auto d = static_cast<double>(x.columns());
  for (std::size_t i = 0; i < x.rows(); ++i) {
    double mean = 0, square = 0;
    for (const double value : x.row(i)) mean += value / d;
    if (norm != Norm::layernorm) mean = 0;
    for (const double value : x.row(i)) square += (value - mean) * (value - mean);
    double length = 1;
    if (norm == Norm::l2) length = std::sqrt(square);
    if (norm == Norm::layernorm) length = std::sqrt(square / d + 1e-12);
    if (norm == Norm::rmsnorm) length = std::sqrt(square / d);
    for (std::size_t k = 0; k < x.columns(); ++k) y(i, k) = (x(i, k) - mean) / length;
  }
  return y;
}

// Coordinates k and k + rd/2 of row i turn by i inv_k, and are stretched by the attention factor;
// unscaled, inv_k = theta^(-2k/rd). Those beyond rd stay.
inline Matrix<double> simple_rotation(const Matrix<double>& y, const ParameterFreeSpec& spec) {
  Matrix<double> turned = y;
  const std::size_t rotary_dim =
      spec.rotary_dim == 0 ? y.columns() : static_cast<std::size_t>(spec.rotary_dim);
  const std::size_t half = rotary_dim / 2;
  const bool scaled = spec.rope_scaling.kind != RopeScaling::Kind::none;
  const std::vector<double> inverse = inverse_frequencies(*spec.rotary());
  const double stretch = scaled ? spec.rotary()->attention_factor : 1;
  for (std::size_t i = 0; i < y.rows(); ++i) {
    for (std::size_t k = 0; k < half; ++k) {
      const double exponent = -2.0 * static_cast<double>(k) / static_cast<double>(rotary_dim);
      const double angle =
          static_cast<double>(i) * (scaled ? inverse[k] : std::pow(*spec.rope_theta, exponent));
      const double cosine = stretch * std::cos(angle), sine = stretch * std::sin(angle);
      turned(i, k) = y(i, k) * cosine - y(i, k + half) * sine;
      turned(i, k + half) = y(i, k) * sine + y(i, k + half) * cosine;
    }
  }
  return turned;
}

struct SimpleLayer {
  Matrix<double> scores;
  Matrix<double> probs;  // zero where the mask hides the pair
};

// One layer: S = scale R(Y) R(Y)^T + slope (j - i), A = softmax(mask(S)), X <- A Y + r X.
inline SimpleLayer simple_layer(const ParameterFreeSpec& spec, int number, Matrix<double>& x) {
  const std::size_t n = x.rows(), d = x.columns();
  const Matrix<double> y = simple_norm(x, spec.norm);
  const Matrix<double> q = spec.rope_theta ? simple_rotation(y, spec) : y;
  SimpleLayer layer{Matrix<double>(n, n), Matrix<double>(n, n)};
  Matrix<double> next(n, d);
  for (std::size_t i = 0; i < n; ++i) {
    double largest = -1e300, sum = 0;
    const auto visible = [&](std::size_t j) {
      return spec.mask_of(number).visible(static_cast<std::int64_t>(i),
                                          static_cast<std::int64_t>(j));
    };
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < d; ++k) layer.scores(i, j) += spec.scale() * q(i, k) * q(j, k);
      layer.scores(i, j) +=
          spec.alibi_slope.value_or(0) * (static_cast<double>(j) - static_cast<double>(i));
      if (visible(j)) largest = std::max(largest, layer.scores(i, j));
    }
    for (std::size_t j = 0; j < n; ++j) {
      if (visible(j)) sum += layer.probs(i, j) = std::exp(layer.scores(i, j) - largest);
    }
    for (std::size_t j = 0; j < n; ++j) layer.probs(i, j) /= sum;
    for (std::size_t k = 0; k < d; ++k) {
      next(i, k) = spec.residual * x(i, k);
      for (std::size_t j = 0; j < n; ++j) next(i, k) += layer.probs(i, j) * y(j, k);
    }
  }
  x = next;
  return layer;
}

// x_i . x_j / |x_i| |x_j|
inline double simple_cosine(const Matrix<double>& x, std::size_t i, std::size_t j) {
  double product = 0, left = 0, right = 0;
  for (std::size_t k = 0; k < x.columns(); ++k) {
    product += x(i, k) * x(j, k);
    left += x(i, k) * x(i, k);
    right += x(j, k) * x(j, k);
  }
  return product / std::sqrt(left * right);
}

inline double simple_length(const Matrix<double>& x, std::size_t i) {
  double square = 0;
  for (const double value : x.row(i)) square += value * value;
  return std::sqrt(square);
}

struct SimpleMonotonicity {
  std::int64_t rows = 0;  // whose scores increase strictly over two keys or more before the query
  std::int64_t unclear = 0;  // rows that hang on a difference below the tolerance
};

// Of one sample's scores of a layer.
inline SimpleMonotonicity simple_monotonicity(const Matrix<double>& scores, const Mask& mask,
                                              double tolerance) {
  SimpleMonotonicity found;
  for (std::size_t i = 0; i < scores.rows(); ++i) {
    std::vector<double> row;
    for (std::size_t j = 0; j < i; ++j) {
      if (mask.visible(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j))) {
        row.push_back(scores(i, j));
      }
    }
    if (row.size() < 2) continue;
    double least = 1e300;
    for (std::size_t k = 1; k < row.size(); ++k) least = std::min(least, row[k] - row[k - 1]);
    found.rows += least > 0;
    found.unclear += std::abs(least) < tolerance;
  }
  return found;
}

}  // namespace poslens::test
