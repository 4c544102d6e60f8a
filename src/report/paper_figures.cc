#include "report/paper_figures.h"

#include "embedded/paper_figure2_csv.h"
#include "embedded/paper_figure4_top_csv.h"

namespace poslens {
namespace {

// Every figure of the paper has 50 tokens, 64 dimensions, 4 layers, the residual and the causal
// mask: the defaults of ParameterFreeSpec.
ParameterFreeSpec l2_norm(double alpha, std::optional<double> rope_theta = std::nullopt) {
  ParameterFreeSpec spec;
  spec.n = 50;
  spec.dim = 64;
  spec.layer_count = 4;
  spec.norm = Norm::l2;
  spec.residual = true;
  spec.alpha = alpha;
  spec.rope_theta = rope_theta;
  return spec;
}

}  // namespace

const std::vector<PaperFigure>& paper_figures() {
  static const std::vector<PaperFigure> figures = {
      {.name = "fig2",
       .title = "Figure 2: mean scores without positional encoding",
       .rows = {{"alpha=0", "α = 0", l2_norm(0)}, {"alpha=0.2", "α = 0.2", l2_norm(0.2)}},
       .range = {0, 1},
       .published = embedded::paper_figure2_csv},
      {.name = "fig4",
       .title = "Figure 4: mean scores with RoPE, raw and diagonal-normalised",
       .rows = {{"alpha=0", "α = 0, RoPE", l2_norm(0, 1e4)}},
       .range = {0, 1},
       .diagonal_normalised = true,
       .published = embedded::paper_figure4_top_csv},
  };
  return figures;
}

std::string panel_name(const PaperRow& row, int layer) {
  return row.name + ";layer=" + std::to_string(layer + 1);
}

}  // namespace poslens
