// The mean-field recursion on the Gram matrix of the residual stream (docs/theory.md).

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "poslens/rotary.h"
#include "poslens/theory.h"
#include "poslens/threads.h"

namespace poslens {
namespace {

// The keys first, first + step, ... below last that a query sees.
struct Keys {
  Keys(const Mask& mask, std::size_t query, std::size_t n) {
    const KeyRange keys = mask.keys(static_cast<std::int64_t>(query), static_cast<std::int64_t>(n));
    first = static_cast<std::size_t>(keys.first);
    last = static_cast<std::size_t>(keys.last);
    step = static_cast<std::size_t>(keys.step);
  }
  std::size_t first, last, step;
};

class MeanField {
 public:
  explicit MeanField(const ParameterFreeSpec& spec)
      : spec_(spec),
        n_(static_cast<std::size_t>(spec.n)),
        gram_(spec.input_correlation()),
        rotary_(n_, 1.0) {
    for (double& product : gram_.values()) product *= spec.input_norm * spec.input_norm;
    if (const auto rotary = spec.rotary()) {
      for (std::size_t t = 0; t < n_; ++t) {
        rotary_[t] = rotary_mean_factor(*rotary, spec.dim, static_cast<std::int64_t>(t));
      }
    }
    if (spec.norm == Norm::layernorm || spec.norm == Norm::rmsnorm) {
      output_norm_ = std::sqrt(static_cast<double>(spec.dim));
    }
  }

  // S_ij = scale <y_i, y_j> c(i-j) + slope (j - i) with <y_i, y_j> = w_i w_j G_ij.
  Matrix<double> scores() {
    normalise();
    const double slope = spec_.alibi_slope.value_or(0);
    Matrix<double> scores(n_, n_);
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < n_; ++j) {
        scores(i, j) =
            spec_.scale() * weight_[i] * weight_[j] * gram_(i, j) * rotary_[i > j ? i - j : j - i] +
            slope * (static_cast<double>(j) - static_cast<double>(i));
      }
    }
    return scores;
  }

  // G <- M G M^T with M = softmax(mask(S)) diag(w) + r I.
  void advance(const Matrix<double>& scores, const Mask& mask) {
    const Matrix<double> mixing = mixing_matrix(scores, mask);
    Matrix<double> half(n_, n_);  // M G
    parallel_for(n_, [&](std::size_t i, int) {
      const Keys keys(mask, i, n_);
      for (std::size_t j = keys.first; j < keys.last; j += keys.step) {
        for (std::size_t k = 0; k < n_; ++k) half(i, k) += mixing(i, j) * gram_(j, k);
      }
    });
    parallel_for(n_, [&](std::size_t i, int) {
      for (std::size_t k = 0; k <= i; ++k) {
        const Keys keys(mask, k, n_);
        double sum = 0;
        for (std::size_t j = keys.first; j < keys.last; j += keys.step) {
          sum += half(i, j) * mixing(k, j);
        }
        gram_(i, k) = sum;
      }
    });
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t k = 0; k < i; ++k) gram_(k, i) = gram_(i, k);
    }
  }

 private:
  // w_i = hs / s_i: Y = diag(w) X.
  void normalise() {
    weight_.assign(n_, 1.0);
    if (spec_.norm == Norm::none) return;
    for (std::size_t i = 0; i < n_; ++i) weight_[i] = output_norm_ / std::sqrt(gram_(i, i));
  }

  Matrix<double> mixing_matrix(const Matrix<double>& scores, const Mask& mask) const {
    Matrix<double> mixing(n_, n_);
    for (std::size_t i = 0; i < n_; ++i) {
      const Keys keys(mask, i, n_);
      const auto row = scores.row(i);
      double largest = row[i], sum = 0;  // every query sees itself
      for (std::size_t j = keys.first; j < keys.last; j += keys.step) {
        largest = std::max(largest, row[j]);
      }
      for (std::size_t j = keys.first; j < keys.last; j += keys.step) {
        sum += mixing(i, j) = std::exp(row[j] - largest);
      }
      for (std::size_t j = keys.first; j < keys.last; j += keys.step) {
        mixing(i, j) *= weight_[j] / sum;
      }
      mixing(i, i) += spec_.residual;
    }
    return mixing;
  }

  const ParameterFreeSpec& spec_;
  std::size_t n_;
  Matrix<double> gram_;
  std::vector<double> rotary_;  // c(t)
  std::vector<double> weight_;
  double output_norm_ = 1;  // hs
};

}  // namespace

void mean_field(const ParameterFreeSpec& spec,
                const std::function<void(int layer, Matrix<double> scores)>& take) {
  spec.validate();
  MeanField field(spec);
  for (int layer = 0; layer < spec.layer_count; ++layer) {
    Matrix<double> scores = field.scores();
    if (layer + 1 < spec.layer_count) field.advance(scores, spec.mask_of(layer));
    take(layer, std::move(scores));
  }
}

std::vector<Matrix<double>> mean_field_scores(const ParameterFreeSpec& spec) {
  std::vector<Matrix<double>> layers;
  mean_field(spec, [&](int, Matrix<double> scores) { layers.push_back(std::move(scores)); });
  return layers;
}

}  // namespace poslens
