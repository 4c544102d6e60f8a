#include "report/worked_example.h"

#include <cmath>
#include <limits>

#include "poslens/figure.h"
#include "poslens/parameter_free.h"
#include "poslens/theory.h"
#include "report/published.h"

namespace poslens {
namespace {

// As printed. The last digit is rounded in the first two and cut in the third (0.15082), so that
// only a whole unit of it can be asked for.
const PublishedPanel kPrinted = {"layer=2", {{1, 0, 0.154}, {2, 0, 0.132}, {2, 1, 0.150}}};
constexpr double kTolerance = 0.001;

Matrix<float> lower_triangle(const Matrix<double>& from) {
  Matrix<float> to(from.rows(), from.columns());
  for (std::size_t i = 0; i < from.rows(); ++i) {
    for (std::size_t j = 0; j < from.columns(); ++j) {
      to(i, j) = j > i ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(from(i, j));
    }
  }
  return to;
}

// A = softmax of each causal row of S.
Matrix<double> causal_attention(const Matrix<double>& scores) {
  Matrix<double> attention(scores.rows(), scores.columns());
  for (std::size_t i = 0; i < scores.rows(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j <= i; ++j) sum += std::exp(scores(i, j));
    for (std::size_t j = 0; j <= i; ++j) attention(i, j) = std::exp(scores(i, j)) / sum;
  }
  return attention;
}

Comparison compare(const std::string& route, const Matrix<float>& scores) {
  return {.figure = "fig1",
          .panel = kPrinted.name,
          .quantity = Quantity::scores,
          .route = route,
          .reference = "published",
          .values = std::ssize(kPrinted.scores),
          .value = std::numeric_limits<double>::quiet_NaN(),
          .largest_deviation = largest_deviation(kPrinted, scores.view()),
          .tolerance = kTolerance,
          .standard_error = std::numeric_limits<double>::quiet_NaN()};
}

}  // namespace

std::vector<Comparison> reproduce_worked_example(const ReproduceOptions& options) {
  ParameterFreeSpec spec;
  spec.n = 3;
  spec.layer_count = 2;
  spec.norm = Norm::l2;
  ScoreMap map = mean_field_map(spec);
  map.provenance.command_line = options.command_line;
  save(map, options.folder / "fig1-theory.npz");

  const std::vector<Matrix<double>> mean_field = mean_field_scores(spec);
  const Matrix<float> closed_form = lower_triangle(closed_form_layer2(spec));
  const Matrix<double> attention = causal_attention(mean_field[0]);
  Matrix<double> output = attention;  // X = A Y + Y: row i in terms of the orthonormal inputs
  for (std::size_t i = 0; i < output.rows(); ++i) output(i, i) += 1;
  const std::vector<Panel> panels = {
      {"layer 1: scores", lower_triangle(mean_field[0]), {{0, 1}}},
      {"layer 1: attention", lower_triangle(attention), {{0, 1}}},
      {"layer 1: outputs, by input", lower_triangle(output), {{0, 2}}},
      {"layer 2: scores", closed_form, {{0.1, 0.2}}},
  };
  FigureOptions figure;
  figure.title = kWorkedExampleTitle;
  draw_heat_maps(panels, figure, options.folder / "fig1.svg");
  return {compare("closed form", closed_form),
          compare("mean field", lower_triangle(mean_field[1]))};
}

}  // namespace poslens
