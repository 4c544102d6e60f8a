#pragma once
// Monte Carlo of the parameter-free Transformer: what happens at finite width, sample by sample.

#include <cstdint>
#include <string>

#include "poslens/parameter_free.h"
#include "poslens/score_map.h"

namespace poslens {

enum class Engine {
  automatic,   // triangular where it applies, else dense
  triangular,  // no rotary encoding, causal or window mask: cost does not grow with dim
  dense,       // everything
};

struct SimulationOptions {
  ParameterFreeSpec spec;
  std::int64_t samples = 1000;
  std::uint64_t seed = 0;
  Engine engine = Engine::automatic;
  bool variance = false;    // keep the variance over samples of every score
  bool probs = false;       // keep mean attention probabilities
  bool recency = false;     // keep the recency probability of every layer
  std::int64_t groups = 0;  // > 1: keep means of interleaved groups of samples

  // Throws UsageError naming the option, the value and what is allowed.
  void validate() const;
};

// The engine that `automatic` stands for. Throws UsageError when the named one cannot do it.
Engine choose_engine(const SimulationOptions& options);
std::string to_string(Engine engine);  // auto, triangular, dense
Engine parse_engine(const std::string& text);

// Means over samples (source simulation, stage scaled). The same bits for any thread count.
ScoreMap simulate(const SimulationOptions& options);

}  // namespace poslens
