#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "metrics/attention_layer.h"
#include "poslens/attention.h"
#include "poslens/error.h"
#include "poslens/threads.h"

namespace poslens {

Matrix<double> softmax_rows(MatrixView<const float> map) {
  Matrix<double> attention(map.rows(), map.columns());
  AttentionRow row;
  for (std::size_t i = 0; i < map.rows(); ++i) {
    softmax_row(map.row(i), row);
    if (!std::isfinite(row.first) || !std::isfinite(row.rest_entropy)) {
      throw Error(fmt::format("query {}: expected finite scores, and one or more of them", i));
    }
    attention(i, 0) = row.first;
    for (std::size_t k = 0; k < row.rest.size(); ++k) {
      attention(i, k + 1) = row.others * row.rest[k];
    }
  }
  return attention;
}

Matrix<double> rollout(const std::vector<Matrix<double>>& attentions, double mixing) {
  if (attentions.empty()) throw Error("rollout: expected one layer or more, found none");
  if (!(mixing >= 0 && mixing <= 1)) {
    throw UsageError(fmt::format("rollout: mixing {}: expected a number in 0..1", mixing));
  }
  const std::size_t n = attentions[0].rows();
  Matrix<double> result(n, n);
  for (std::size_t i = 0; i < n; ++i) result(i, i) = 1;
  for (const Matrix<double>& attention : attentions) {
    if (attention.rows() != n || attention.columns() != n) {
      throw Error(fmt::format("rollout: expected {} x {} attentions, found {} x {}", n, n,
                              attention.rows(), attention.columns()));
    }
    Matrix<double> next(n, n);
    parallel_for(n, [&](std::size_t i, int /*worker*/) {
      for (std::size_t j = 0; j < n; ++j) next(i, j) = (1 - mixing) * result(i, j);
      for (std::size_t k = 0; k < n; ++k) {
        const double weight = mixing * attention(i, k);
        if (weight == 0) continue;  // most of what a causal mask hides
        for (std::size_t j = 0; j < n; ++j) next(i, j) += weight * result(k, j);
      }
    });
    result = std::move(next);
  }
  return result;
}

}  // namespace poslens
