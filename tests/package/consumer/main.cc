// What a user of the library writes: the causal mask alone makes layer 2 favour near keys.

#include <poslens/theory.h>

#include <cstdio>

int main() {
  poslens::ParameterFreeSpec spec;
  spec.n = 3;
  const poslens::Matrix<double> scores = poslens::mean_field_scores(spec)[1];
  std::printf("S(3,1) = %.3f  S(3,2) = %.3f\n", scores(2, 0), scores(2, 1));
  return scores(2, 0) < scores(2, 1) ? 0 : 1;
}
