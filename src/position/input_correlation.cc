// How the inputs of the parameter-free Transformer depend on each other.

#include "position/input_correlation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "poslens/error.h"
#include "poslens/index_list.h"

namespace poslens {
namespace {

void require_alpha(double alpha, const std::string& text) {
  if (!(alpha >= 0 && alpha < 1)) {
    throw UsageError(fmt::format("--alpha {}: expected 0 <= alpha < 1", text));
  }
}

void validate_groups(const ParameterFreeSpec& spec) {
  const std::string text = spec.alpha_text();
  std::vector<bool> named(static_cast<std::size_t>(spec.n));
  double smallest = 1;
  for (const TokenGroup& group : spec.token_groups) {
    require_alpha(group.alpha, text);
    if (group.positions.empty()) {
      throw UsageError(fmt::format("--alpha {}: expected positions in every group", text));
    }
    smallest = std::min(smallest, group.alpha);
    for (const int position : group.positions) {
      if (position < 0 || position >= spec.n) {
        throw UsageError(
            fmt::format("--alpha {}: expected positions below {}, as --n says, found {}", text,
                        spec.n, position));
      }
      if (named[static_cast<std::size_t>(position)]) {
        throw UsageError(fmt::format("--alpha {}: expected one alpha a position, found two for {}",
                                     text, position));
      }
      named[static_cast<std::size_t>(position)] = true;
    }
  }
  // Tokens of no group are one, where there are any.
  if (std::find(named.begin(), named.end(), false) != named.end()) {
    smallest = std::min(smallest, spec.alpha);
  }
  if (!(spec.alpha_between >= 0 && spec.alpha_between <= smallest)) {
    throw UsageError(
        fmt::format("--alpha-between {}: expected 0 to {}, the smallest alpha of --alpha {}",
                    spec.alpha_between, smallest, text));
  }
}

}  // namespace

void validate_inputs(const ParameterFreeSpec& spec) {
  require_alpha(spec.alpha, spec.alpha_text());
  if (!spec.token_groups.empty()) {
    validate_groups(spec);
  } else if (spec.alpha_between != 0) {
    throw UsageError(
        fmt::format("--alpha-between {}: expected groups of tokens too, such as --alpha "
                    "0.2@0-24,0.6@25-49",
                    spec.alpha_between));
  }
  if (!(spec.markov > -1 && spec.markov < 1)) {
    throw UsageError(fmt::format("--markov {}: expected -1 < rho < 1", spec.markov));
  }
  if (spec.markov != 0 && (spec.alpha != 0 || !spec.token_groups.empty())) {
    throw UsageError(fmt::format("--markov {}: expected --alpha 0, found --alpha {}", spec.markov,
                                 spec.alpha_text()));
  }
}

std::string ParameterFreeSpec::alpha_text() const {
  std::string text;
  if (alpha != 0 || token_groups.empty()) text = fmt::format("{}", alpha);
  for (const TokenGroup& group : token_groups) {
    text += fmt::format("{}{}@{}", text.empty() ? "" : ",", group.alpha,
                        index_list_text(group.positions));
  }
  return text;
}

std::vector<std::size_t> ParameterFreeSpec::group_of_tokens() const {
  std::vector<std::size_t> groups(static_cast<std::size_t>(n));
  for (std::size_t g = 0; g < token_groups.size(); ++g) {
    for (const int position : token_groups[g].positions) {
      groups[static_cast<std::size_t>(position)] = g + 1;
    }
  }
  return groups;
}

Matrix<double> ParameterFreeSpec::input_correlation() const {
  const std::vector<std::size_t> groups = group_of_tokens();
  Matrix<double> correlation(groups.size(), groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    correlation(i, i) = 1;
    double power = 1;  // of rho
    for (std::size_t j = i; j-- > 0;) {
      power *= markov;
      const double together = groups[i] == groups[j] ? alpha_of_group(groups[i]) : alpha_between;
      correlation(i, j) = correlation(j, i) = markov != 0 ? power : together;
    }
  }
  return correlation;
}

}  // namespace poslens
