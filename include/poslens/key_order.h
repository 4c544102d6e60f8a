#pragma once
// In what order a mean map ranks the keys of a query: is a later key scored higher? Only the order
// within rows counts, so row functions g(i), and any increasing function applied to a row, change
// nothing here.

#include <vector>

#include "poslens/decomposition.h"
#include "poslens/estimate.h"
#include "poslens/matrix.h"

namespace poslens {

// Over the scored pairs (decomposition.h), keys j < k < i of one query. All are in 0..1; 1 when
// scores rise with the key. They are of the mean map: a mean can rise where few samples do, and the
// recency probability of single samples is the artefact's `recency`.
struct KeyOrder {
  // Share of all pairs of keys of one query with S_ik > S_ij, ties counting half: the recency
  // probability (arXiv 2509.21042) of the mean map. It is (1 + tau) / 2 of Kendall's tau
  // (Biometrika 30, 1938) between score and key within rows; 1/2 where position makes no
  // difference.
  Estimate recency;
  // The same over neighbours k = j + 1 only: monotonicity step by step.
  Estimate rising_steps;
  // Share of the rows, of those with two keys or more, in which every step rises strictly.
  Estimate rising_rows;
};

// groups as in decompose(); the map is their mean, and the standard error the jackknife's over
// means without one group. It needs two groups. O(n^2 log n) each. Throws Error like decompose().
KeyOrder key_order(const std::vector<MatrixView<const float>>& groups, Support support);

// With and without key 0, for the price of one. Throws Error when n < 5.
struct KeyOrders {
  KeyOrder all_keys;
  KeyOrder without_first_key;
};
KeyOrders key_orders(const std::vector<MatrixView<const float>>& groups);

}  // namespace poslens
