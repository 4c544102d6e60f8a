#pragma once
// The paper's claims about the second layer, appendices A.1 (with the residual) and A.2 (without).

#include <vector>

#include "poslens/reproduce.h"

namespace poslens {

inline constexpr const char* kClaimsTitle =
    "The paper's claims about layer 2 (appendices A.1, A.2), on a grid of n and α";

// With and without the residual: h strictly decreases; S_ij strictly increases in j for j <= i; g
// saturates. Whether a position agrees does not depend on n, so that one pass to the largest n of
// the grid answers for all of it.
std::vector<Claim> check_claims();

// Where a claim fails: for one alpha, the first n that does not agree; 0: every n does.
struct ClaimFailure {
  double alpha = 0;
  std::int64_t first_n = 0;
};
// In words: "holds everywhere", or what fails. One entry for each alpha of the grid.
std::string where_claim_holds(const std::vector<ClaimFailure>& failures);

}  // namespace poslens
