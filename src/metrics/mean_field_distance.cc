#include "poslens/mean_field_distance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <limits>
#include <string>
#include <utility>

#include "metrics/triangle.h"
#include "poslens/error.h"
#include "poslens/theory.h"

namespace poslens {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::array kAlphas = {0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95};
constexpr int kMostLayers = 64;  // of ParameterFreeSpec

using Values = std::vector<double>;  // of the scored pairs, row after row, less row means

template <typename Map>
Values centred(const Map& map, const Triangle& triangle) {
  Values values;
  values.reserve(static_cast<std::size_t>(triangle.pairs()));
  for (std::int64_t i = 1; i < triangle.n; ++i) {
    const auto row = map.row(static_cast<std::size_t>(i));
    const auto first = static_cast<std::size_t>(triangle.first_key(i));
    const auto keys = static_cast<std::size_t>(i) - first;
    double mean = 0;
    for (std::size_t j = 0; j < keys; ++j) {
      mean += static_cast<double>(row[first + j]) / static_cast<double>(keys);
    }
    for (std::size_t j = 0; j < keys; ++j) {
      values.push_back(static_cast<double>(row[first + j]) - mean);
    }
  }
  return values;
}

double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

// One layer's groups over one support, and their products with the predictions, which come alpha
// by alpha.
class Comparison {
 public:
  Comparison(const std::vector<MatrixView<const float>>& groups, Support support)
      : support_(support) {
    const auto parts = scored_part(groups, support);
    triangle_ = find_triangle(parts);
    for (const MatrixView<const float>& part : parts) {
      groups_.push_back(centred(part, triangle_));
      const std::span<const float> last = part.row(part.rows() - 1);
      for (std::size_t j = 0; j + 1 < part.columns(); ++j) {
        if (std::isnan(last[j])) continue;
        largest_ = std::max(largest_, std::abs(static_cast<double>(last[j])));
      }
    }
  }

  void predict(const Matrix<double>& scores) {
    const auto first = static_cast<std::size_t>(support_.first_key);
    const auto n = static_cast<std::size_t>(triangle_.n);
    Values shape =
        centred(MatrixView<const double>(scores.view().data() + first * scores.columns() + first, n,
                                         n, scores.columns()),
                triangle_);
    squares_.push_back(dot(shape, shape));
    with_next_.push_back(0);
    if (!previous_.empty()) with_next_[squares_.size() - 2] = dot(previous_, shape);
    Values products;
    products.reserve(groups_.size());
    for (const Values& group : groups_) products.push_back(dot(group, shape));
    products_.push_back(std::move(products));
    previous_ = std::move(shape);
  }

  MeanFieldDistance distance() const {
    const std::size_t count = groups_.size();
    std::array<Values, 3> values;  // with all groups, then without each
    for (std::size_t left_out = 0; left_out <= count; ++left_out) {
      if (left_out > 0 && count < 3) break;
      std::vector<std::size_t> which;
      for (std::size_t group = 0; group < count; ++group) {
        if (group + 1 != left_out) which.push_back(group);
      }
      const auto [alpha, explained] = fit(which);
      const double total = mean_product(
          which, [&](std::size_t a, std::size_t b) { return dot(groups_[a], groups_[b]); });
      const double rounding =
          std::pow(largest_ * 0x1p-24, 2) * static_cast<double>(triangle_.pairs());
      values[0].push_back(alpha);
      values[1].push_back((total - explained) / static_cast<double>(triangle_.pairs()));
      values[2].push_back(total > rounding ? 1 - explained / total : kNan);
    }
    const auto estimate = [](const Values& of) {
      return jackknife(of[0], {of.begin() + 1, of.end()});
    };
    return {estimate(values[0]), estimate(values[1]), estimate(values[2])};
  }

 private:
  // The mean of product(a, b) over different groups, or that of the only one with itself.
  template <typename Product>
  static double mean_product(const std::vector<std::size_t>& which, const Product& product) {
    if (which.size() == 1) return product(which[0], which[0]);
    double sum = 0;
    for (const std::size_t a : which) {
      for (const std::size_t b : which) {
        if (a < b) sum += product(a, b);
      }
    }
    return 2 * sum / static_cast<double>(which.size() * (which.size() - 1));
  }

  // Between predictions k and k + 1: (1 - w) P_k + w P_k+1.
  struct Place {
    std::size_t k = 0;
    double w = 0;
  };
  double along(const Place& place, const std::vector<Values>& products, std::size_t group) const {
    const double next = place.w > 0 ? products[place.k + 1][group] : 0;
    return (1 - place.w) * products[place.k][group] + place.w * next;
  }
  double square(const Place& place) const {
    const double v = 1 - place.w;
    const double next = place.w > 0 ? squares_[place.k + 1] : 0;
    return v * v * squares_[place.k] + 2 * v * place.w * with_next_[place.k] +
           place.w * place.w * next;
  }
  bool has_shape(std::size_t k) const {
    return squares_[k] > 1e-20 * static_cast<double>(triangle_.pairs());
  }

  // The best w in 0..1 by least squares in the plane of P_k and P_k+1; its ends where none is.
  std::vector<Place> candidates(std::size_t k, double product, double next) const {
    std::vector<Place> places = {{k, 0}};
    if (k + 1 == kAlphas.size() || !has_shape(k + 1)) return places;
    const double a = squares_[k + 1] * product - with_next_[k] * next;
    const double b = squares_[k] * next - with_next_[k] * product;
    if (a > 0 && b > 0) places.push_back({k, b / (a + b)});
    return places;
  }

  // alpha, and what the prediction explains of the total.
  std::pair<double, double> fit(const std::vector<std::size_t>& which) const {
    const auto mean = [&](std::size_t k) {
      double sum = 0;
      for (const std::size_t group : which) sum += products_[k][group];
      return sum / static_cast<double>(which.size());
    };
    Place best;
    double most = 0;
    for (std::size_t k = 0; k < kAlphas.size(); ++k) {
      if (!has_shape(k)) continue;
      const double next = k + 1 < kAlphas.size() ? mean(k + 1) : 0;
      for (const Place& place : candidates(k, mean(k), next)) {
        const double product = (1 - place.w) * mean(k) + place.w * next;
        const double explained = product > 0 ? product * product / square(place) : 0;
        if (explained <= most) continue;
        most = explained;
        best = place;
      }
    }
    if (most == 0) return {kNan, 0};
    const double next_alpha = best.w > 0 ? kAlphas.at(best.k + 1) : 0;
    const double explained = mean_product(which, [&](std::size_t a, std::size_t b) {
      return along(best, products_, a) * along(best, products_, b);
    });
    return {(1 - best.w) * kAlphas.at(best.k) + best.w * next_alpha, explained / square(best)};
  }

  Support support_;
  Triangle triangle_;
  std::vector<Values> groups_;
  double largest_ = 0;
  // By alpha: |P|^2, <P, next P>, and <group, P> by group.
  Values squares_, with_next_;
  std::vector<Values> products_;
  Values previous_;
};

// The mask that a map of n positions shows, prefix and window included.
Mask mask_of(MatrixView<const float> map, const Triangle& triangle) {
  std::int64_t seen = 0;
  for (const float score : map.row(0)) seen += std::isnan(score) ? 0 : 1;
  if (seen == triangle.n) return {Mask::Kind::full, 0};
  if (seen > 1) return {Mask::Kind::prefix, seen};
  if (triangle.window < triangle.n) return {Mask::Kind::window, triangle.window};
  return {};
}

std::vector<MatrixView<const float>> groups_of(const ScoreMap& map, std::size_t place) {
  std::vector<MatrixView<const float>> groups = map.group_layers(place);
  const auto n = static_cast<std::size_t>(std::min(map.n, kMeanFieldPositions));
  for (MatrixView<const float>& group : groups) group = {group.data(), n, n, group.stride()};
  return groups;
}

// The option's text does not hold all of a scaling.
bool has_scaled_rope(const ScoreMap& map) {
  const auto& options = map.provenance.options;
  return map.source != Source::model &&
         std::any_of(options.begin(), options.end(),
                     [](const auto& option) { return option.first == "rope-scaling"; });
}

MeanFieldDistance unknown() { return {Estimate{kNan}, Estimate{kNan}, Estimate{kNan}}; }

}  // namespace

ParameterFreeSpec mean_field_model(const ScoreMap& map) {
  ParameterFreeSpec spec;
  if (map.source == Source::model) return spec;
  for (const auto& [name, value] : map.provenance.options) {
    try {
      if (name == "norm") spec.norm = parse_norm(value);
      if (name == "score-scale") spec.score_scale = parse_score_scale(value);
      if (name == "dim") spec.dim = std::stoi(value);
      if (name == "input-norm") spec.input_norm = std::stod(value);
      if (name == "residual-weight") spec.residual = std::stod(value);
      if (name == "rope" && value != "none") spec.rope_theta = std::stod(value);
      if (name == "rotary-dim") spec.rotary_dim = std::stoi(value);
      if (name == "alibi") spec.alibi_slope = std::stod(value);
      if (spec.rope_theta && !(*spec.rope_theta > 0)) throw Error("theta");
    } catch (const std::exception&) {  // of another program, or damaged
      throw Error(fmt::format("meta.json: option {}: {} is no value of it", name, value));
    }
  }
  try {
    spec.validate();
  } catch (const Error& error) {
    throw Error(fmt::format("meta.json: options: {}", error.what()));
  }
  return spec;
}

std::vector<MeanFieldDistances> mean_field_distances(const ScoreMap& map) {
  std::vector<MeanFieldDistances> distances(map.layers.size(), {unknown(), unknown()});
  if (map.pool > 1 || has_scaled_rope(map)) return distances;
  ParameterFreeSpec spec = mean_field_model(map);
  spec.n = std::min(map.n, kMeanFieldPositions);
  spec.layer_count = 0;
  std::vector<std::pair<Comparison, Comparison>> layers;
  for (std::size_t place = 0; place < distances.size(); ++place) {
    if (map.layers[place] >= kMostLayers) break;
    const auto groups = groups_of(map, place);
    layers.emplace_back(Comparison(groups, {0}), Comparison(groups, {1}));
    spec.layer_masks[map.layers[place]] = mask_of(groups[0], find_triangle(groups));
    spec.layer_count = map.layers[place] + 1;
  }
  if (layers.empty()) return distances;
  for (const double alpha : kAlphas) {
    spec.alpha = alpha;
    std::size_t place = 0;
    mean_field(spec, [&](int layer, const Matrix<double>& scores) {
      if (layer != map.layers[place]) return;
      layers[place].first.predict(scores);
      layers[place].second.predict(scores);
      ++place;
    });
  }
  for (std::size_t place = 0; place < layers.size(); ++place) {
    distances[place] = {layers[place].first.distance(), layers[place].second.distance()};
  }
  return distances;
}

}  // namespace poslens
