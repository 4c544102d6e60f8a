#pragma once
// A row of panels, as theory or simulation made it, against what is known of it.

#include <vector>

#include "poslens/reproduce.h"
#include "poslens/score_map.h"
#include "report/paper_figures.h"

namespace poslens {

// One comparison with the published scores for each layer of the map; none when nothing was
// published. Throws Error when the published values lack a panel.
std::vector<Comparison> compare_with_published(const PaperFigure& figure, const PaperRow& row,
                                               const ScoreMap& map);

// One comparison for each layer of simulated scores with the mean field of the same row.
std::vector<Comparison> compare_with_mean_field(const PaperFigure& figure, const PaperRow& row,
                                                const ScoreMap& simulated,
                                                const ScoreMap& mean_field);

// The recency probability of each layer: compared with the published one where there is one; that
// of the first layer with 1/2 otherwise, since keys before the query are exchangeable there; the
// others with nothing.
std::vector<Comparison> compare_recency(const PaperFigure& figure, const PaperRow& row,
                                        const ScoreMap& simulated);

// How far a mean score of width dim may be from the mean field, whose width has no limit. Let s be
// the score of a token with itself; a cosine of two random directions, and with it a score beside
// s, has the standard deviation 1/sqrt(dim).
// First layer: the mean of a cosine of correlation rho is rho (1 - (1 - rho^2)/(2 dim)) to first
// order in 1/dim: less than s/dim away.
// Further layers: their weights come from scores that fluctuate by s/sqrt(dim), which mean field
// replaces by their means. No bound is known; a mean is held to one such standard deviation.
double finite_width_tolerance(const ParameterFreeSpec& spec, int layer);

// How far a recency probability from so many samples may be from a published one, which has 1e7 and
// four digits: 0.0006 with as many; with fewer, four standard errors more of what is lost. A
// sample's share of triples lies in [0, 1] and has the mean p, hence a variance of p (1 - p) at
// most.
double recency_tolerance(double published, std::int64_t samples);

}  // namespace poslens
