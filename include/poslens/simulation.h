#pragma once
// Monte Carlo of the parameter-free Transformer: what happens at finite width, sample by sample.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "poslens/parameter_free.h"
#include "poslens/run_parts.h"
#include "poslens/score_map.h"

namespace poslens {

enum class Engine {
  automatic,   // triangular where it applies, else dense
  triangular,  // no rotary encoding, no key after its query: cost does not grow with dim
  dense,       // everything
};

struct SimulationOptions {
  ParameterFreeSpec spec;
  std::int64_t samples = 1000;
  std::uint64_t seed = 0;
  Engine engine = Engine::automatic;
  bool variance = false;         // keep the variance over samples of every score
  bool probs = false;            // keep mean attention probabilities
  bool recency = false;          // keep the recency probability of every layer
  bool monotonicity = false;     // keep the share of rows that increase with the key, by layer
  bool hidden_geometry = false;  // keep norms and cosines of the residual stream by position
  std::int64_t readout = 0;  // > 0: fit positions to scores on that many samples, test on others
  std::int64_t readout_keys = 0;  // K, of whose keys the readout sees scores; 0: n/2, at most 64
  std::int64_t groups = 0;        // > 1: keep means of interleaved groups of samples
  std::optional<Shard> shard;     // run this part alone, and keep its exact sums in the map

  // Throws UsageError naming the option, the value and what is allowed.
  void validate() const;
};

// The engine that `automatic` stands for. Throws UsageError when the named one cannot do it.
Engine choose_engine(const SimulationOptions& options);
std::string to_string(Engine engine);  // auto, triangular, dense
Engine parse_engine(const std::string& text);

// Means over samples (source simulation, stage scaled). The same bits for any thread count.
ScoreMap simulate(const SimulationOptions& options);

// The same bits again, interrupted or not. What an interrupted run leaves is an artefact of the
// samples so far, with their exact sums. Throws Error naming the file and the option when it is of
// another run.
ScoreMap simulate(const SimulationOptions& options, const RunCheckpoint& checkpoint);

// Joins all shards of a run into what one run gives, bit for bit. options: those of the run,
// without shard. Throws Error naming the map that is no shard or of another run, and shards that
// are missing or double.
struct NamedMap {
  std::string name;
  ScoreMap map;
};
ScoreMap merge_shards(const SimulationOptions& options, const std::vector<NamedMap>& shards);
// The same with one shard in memory at a time.
ScoreMap merge_shards(const SimulationOptions& options, const std::vector<std::string>& names,
                      const std::function<ScoreMap(const std::string& name)>& load);

}  // namespace poslens
