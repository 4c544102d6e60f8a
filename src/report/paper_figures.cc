#include "report/paper_figures.h"

#include <fmt/format.h>

#include <cmath>

#include "embedded/paper_figure2_csv.h"
#include "embedded/paper_figure4_top_csv.h"
#include "embedded/paper_recency_csv.h"

namespace poslens {
namespace {

constexpr std::pair<double, double> kUnit{0, 1};
constexpr std::pair<double, double> kEight{0, 8};

// Every figure of arXiv 2509.21042 v1 has 50 tokens of norm 1, 64 dimensions, 4 layers and the
// residual, most of them the causal mask.
ParameterFreeSpec l2_norm(double alpha, std::optional<double> rope_theta = std::nullopt) {
  ParameterFreeSpec spec;
  spec.n = 50;
  spec.dim = 64;
  spec.layer_count = 4;
  spec.norm = Norm::l2;
  spec.residual = 1;
  spec.alpha = alpha;
  spec.rope_theta = rope_theta;
  return spec;
}

ParameterFreeSpec layernorm(double alpha, ScoreScale scale) {
  ParameterFreeSpec spec = l2_norm(alpha);
  spec.norm = Norm::layernorm;
  spec.score_scale = scale;
  return spec;
}

ParameterFreeSpec unmasked(ParameterFreeSpec spec) {
  spec.mask = Mask::parse("full");
  return spec;
}

// Figures with the recency probability, of the paper's later version: inputs (g + l c)/sqrt(dim),
// whose mean square norm is 1 + l^2 = 1/(1 - alpha).
PaperRow recency_row(int dim, double alpha, Norm norm, bool residual) {
  ParameterFreeSpec spec;
  spec.n = 10;
  spec.dim = dim;
  spec.layer_count = 4;
  spec.alpha = alpha;
  spec.norm = norm;
  spec.score_scale = ScoreScale::inv_sqrt_dim;
  spec.inputs = Inputs::gaussian;
  spec.input_norm = 1 / std::sqrt(1 - alpha);
  spec.residual = residual;
  return {.name = fmt::format("dim={}_alpha={}_norm={}_residual={}", dim, alpha, to_string(norm),
                              residual ? "on" : "off"),
          .title = fmt::format("d {}, α {}, {}{}", dim, alpha,
                               norm == Norm::none ? "no norm" : "LN", residual ? ", res." : ""),
          .spec = spec,
          .range = std::nullopt};
}

// The four cases of the published table, for each width.
std::vector<PaperRow> recency_cases(std::initializer_list<int> dims) {
  std::vector<PaperRow> rows;
  for (const int dim : dims) {
    rows.push_back(recency_row(dim, 0, Norm::none, false));
    rows.push_back(recency_row(dim, 0, Norm::layernorm, false));
    rows.push_back(recency_row(dim, 0.5, Norm::layernorm, false));
    rows.push_back(recency_row(dim, 0.5, Norm::layernorm, true));
  }
  return rows;
}

std::vector<PaperRow> recency_against_alpha() {
  std::vector<PaperRow> rows;
  for (const int dim : {16, 64}) {
    for (const bool residual : {false, true}) {
      for (const double alpha : {0.0, 0.2, 0.4, 0.6, 0.8}) {
        rows.push_back(recency_row(dim, alpha, Norm::layernorm, residual));
      }
    }
  }
  return rows;
}

PaperFigure recency_figure(std::string name, std::string title, std::vector<PaperRow> rows,
                           double seconds) {
  PaperFigure figure;
  figure.name = std::move(name);
  figure.title = std::move(title);
  figure.rows = std::move(rows);
  figure.recency = true;
  figure.published_recency = embedded::paper_recency_csv;
  figure.samples = 1'000'000;
  figure.seconds = seconds;
  return figure;
}

}  // namespace

const std::vector<PaperFigure>& paper_figures() {
  static const std::vector<PaperFigure> figures = [] {
    std::vector<PaperFigure> all = {
        {.name = "fig2",
         .title = "Figure 2: mean scores without positional encoding",
         .rows = {{"alpha=0", "α = 0", l2_norm(0), kUnit},
                  {"alpha=0.2", "α = 0.2", l2_norm(0.2), kUnit}},
         .published = embedded::paper_figure2_csv,
         .seconds = 1},
        {.name = "fig4",
         .title = "Figure 4: mean scores with RoPE, raw and diagonal-normalised",
         .rows = {{"alpha=0", "α = 0, RoPE", l2_norm(0, 1e4), kUnit}},
         .diagonal_normalised = true,
         .published = embedded::paper_figure4_top_csv,
         .seconds = 2},
        {.name = "fig6",
         .title = "Figure 6: mean scores without positional encoding, larger α",
         .rows = {{"alpha=0.4", "α = 0.4", l2_norm(0.4), kUnit},
                  {"alpha=0.6", "α = 0.6", l2_norm(0.6), kUnit},
                  {"alpha=0.8", "α = 0.8", l2_norm(0.8), kUnit}},
         .seconds = 2},
        {.name = "fig7",
         .title = "Figure 7: mean scores with LayerNorm",
         .rows = {{"scale=inv-sqrt-dim_alpha=0", "α = 0, scale 1/√d",
                   layernorm(0, ScoreScale::inv_sqrt_dim), kEight},
                  {"scale=inv-sqrt-dim_alpha=0.2", "α = 0.2, scale 1/√d",
                   layernorm(0.2, ScoreScale::inv_sqrt_dim), kEight},
                  {"scale=inv-dim_alpha=0", "α = 0, scale 1/d", layernorm(0, ScoreScale::inv_dim),
                   kUnit},
                  {"scale=inv-dim_alpha=0.2", "α = 0.2, scale 1/d",
                   layernorm(0.2, ScoreScale::inv_dim), kUnit}},
         .seconds = 3},
        {.name = "fig9",
         .title = "Figure 9: mean scores with RoPE, α = 0.5, raw and diagonal-normalised",
         .rows = {{"alpha=0.5", "α = 0.5, RoPE", l2_norm(0.5, 1e4), kUnit}},
         .diagonal_normalised = true,
         .seconds = 2},
        {.name = "fig10",
         .title = "Figure 10: mean scores with RoPE, full mask, raw and diagonal-normalised",
         .rows = {{"alpha=0", "α = 0, RoPE, full", unmasked(l2_norm(0, 1e4)), kUnit}},
         .diagonal_normalised = true,
         .seconds = 2},
    };
    // Three figures show the four widths; which shows which is not known here. The widths with
    // published values stand together.
    all.push_back(recency_figure("rp-fig1", "Recency probability (RP), d = 16 and 64",
                                 recency_cases({16, 64}), 3));
    all.push_back(
        recency_figure("rp-fig2", "Recency probability (RP), d = 256", recency_cases({256}), 2));
    all.push_back(
        recency_figure("rp-fig3", "Recency probability (RP), d = 1024", recency_cases({1024}), 2));
    all.push_back(recency_figure("rp-alpha", "Recency probability (RP) against α",
                                 recency_against_alpha(), 7));
    all.push_back(recency_figure("rp-table", "Table of recency probabilities, d = 16 and 64",
                                 recency_cases({16, 64}), 2));
    all.back().drawn = false;
    return all;
  }();
  return figures;
}

std::string panel_name(const PaperRow& row, int layer) {
  return row.name + ";layer=" + std::to_string(layer + 1);
}

}  // namespace poslens
