// Inputs that depend on each other: what their correlation is, and what is refused.

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "poslens/error.h"
#include "poslens/parameter_free.h"

namespace poslens {
namespace {

ParameterFreeSpec clusters() {
  ParameterFreeSpec spec;
  spec.n = 5;
  spec.alpha = 0.3;  // of tokens 2 and 4
  spec.token_groups = {{0.2, {0, 1}}, {0.6, {3}}};
  spec.alpha_between = 0.1;
  return spec;
}

void expect_correlation(const ParameterFreeSpec& spec, const double (&expected)[5][5]) {
  const Matrix<double> found = spec.input_correlation();
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 5; ++j) EXPECT_DOUBLE_EQ(found(i, j), expected[i][j]) << i << j;
  }
}

TEST(InputCorrelation, OneAlpha) {
  ParameterFreeSpec spec;
  spec.n = 5;
  spec.alpha = 0.4;
  expect_correlation(spec, {{1, .4, .4, .4, .4},
                            {.4, 1, .4, .4, .4},
                            {.4, .4, 1, .4, .4},
                            {.4, .4, .4, 1, .4},
                            {.4, .4, .4, .4, 1}});
}

TEST(InputCorrelation, Groups) {
  expect_correlation(clusters(), {{1, .2, .1, .1, .1},
                                  {.2, 1, .1, .1, .1},
                                  {.1, .1, 1, .1, .3},
                                  {.1, .1, .1, 1, .1},
                                  {.1, .1, .3, .1, 1}});
}

TEST(InputCorrelation, Markov) {
  ParameterFreeSpec spec;
  spec.n = 5;
  spec.markov = -0.5;
  expect_correlation(spec, {{1, -.5, .25, -.125, .0625},
                            {-.5, 1, -.5, .25, -.125},
                            {.25, -.5, 1, -.5, .25},
                            {-.125, .25, -.5, 1, -.5},
                            {.0625, -.125, .25, -.5, 1}});
}

TEST(InputCorrelation, IsNamedInTheOptions) {
  const auto value = [](const ParameterFreeSpec& spec, const std::string& wanted) {
    for (const auto& [name, text] : spec.options()) {
      if (name == wanted) return text;
    }
    return std::string("none");
  };
  ParameterFreeSpec spec = clusters();
  spec.token_groups[0].positions = {0, 1, 4};
  EXPECT_EQ(value(spec, "alpha"), "0.3,0.2@0-1,4,0.6@3");
  EXPECT_EQ(value(spec, "alpha-between"), "0.1");
  EXPECT_EQ(value(spec, "markov"), "none");
  spec.alpha = 0;
  EXPECT_EQ(value(spec, "alpha"), "0.2@0-1,4,0.6@3");
  spec = {};
  EXPECT_EQ(value(spec, "alpha"), "0");
  EXPECT_EQ(value(spec, "alpha-between"), "none");
  spec.markov = 0.5;
  EXPECT_EQ(value(spec, "markov"), "0.5");
}

std::string refusal(const std::function<void(ParameterFreeSpec&)>& change) {
  ParameterFreeSpec spec = clusters();
  change(spec);
  try {
    spec.validate();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(InputCorrelation, ContradictionsAreRefused) {
  using Spec = ParameterFreeSpec;
  EXPECT_EQ(refusal([](Spec&) {}), "accepted");
  EXPECT_EQ(refusal([](Spec& s) {
              s.token_groups[1].positions = {1, 3};
            }),
            "--alpha 0.3,0.2@0-1,0.6@1,3: expected one alpha a position, found two for 1");
  EXPECT_EQ(refusal([](Spec& s) {
              s.token_groups[1].positions = {3, 5};
            }),
            "--alpha 0.3,0.2@0-1,0.6@3,5: expected positions below 5, as --n says, found 5");
  EXPECT_EQ(refusal([](Spec& s) { s.token_groups[1].positions = {-1}; }),
            "--alpha 0.3,0.2@0-1,0.6@-1: expected positions below 5, as --n says, found -1");
  EXPECT_EQ(refusal([](Spec& s) { s.token_groups[1].positions.clear(); }),
            "--alpha 0.3,0.2@0-1,0.6@: expected positions in every group");
  EXPECT_EQ(refusal([](Spec& s) { s.token_groups[1].alpha = 1; }),
            "--alpha 0.3,0.2@0-1,1@3: expected 0 <= alpha < 1");
  EXPECT_EQ(refusal([](Spec& s) { s.alpha = -0.1; }),
            "--alpha -0.1,0.2@0-1,0.6@3: expected 0 <= alpha < 1");
  EXPECT_EQ(refusal([](Spec& s) { s.alpha_between = 0.25; }),
            "--alpha-between 0.25: expected 0 to 0.2, the smallest alpha of --alpha "
            "0.3,0.2@0-1,0.6@3");
  EXPECT_EQ(refusal([](Spec& s) { s.alpha_between = -0.1; }),
            "--alpha-between -0.1: expected 0 to 0.2, the smallest alpha of --alpha "
            "0.3,0.2@0-1,0.6@3");
  // Tokens that are in no group have alpha 0 unless it says otherwise.
  EXPECT_EQ(refusal([](Spec& s) { s.alpha = 0; }),
            "--alpha-between 0.1: expected 0 to 0, the smallest alpha of --alpha 0.2@0-1,0.6@3");
  EXPECT_EQ(refusal([](Spec& s) {
              s.alpha = 0, s.token_groups[1].positions = {2, 3, 4};
            }),
            "accepted");
  EXPECT_EQ(refusal([](Spec& s) { s.token_groups.clear(); }),
            "--alpha-between 0.1: expected groups of tokens too, such as --alpha "
            "0.2@0-24,0.6@25-49");
  EXPECT_EQ(refusal([](Spec& s) { s.markov = 0.5; }),
            "--markov 0.5: expected --alpha 0, found --alpha 0.3,0.2@0-1,0.6@3");
  EXPECT_EQ(refusal([](Spec& s) { s = {}, s.markov = 0.5, s.alpha = 0.1; }),
            "--markov 0.5: expected --alpha 0, found --alpha 0.1");
  for (const double rho : {-1.0, 1.0}) {
    EXPECT_EQ(refusal([&](Spec& s) { s = {}, s.markov = rho; }),
              "--markov " + std::string(rho > 0 ? "1" : "-1") + ": expected -1 < rho < 1");
  }
  EXPECT_EQ(refusal([](Spec& s) { s = {}, s.markov = -0.9; }), "accepted");
}

}  // namespace
}  // namespace poslens
