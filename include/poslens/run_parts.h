#pragma once
// Runs in parts: shards, which are merged afterwards, and runs that go on after an interruption.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "poslens/score_map.h"

namespace poslens {

// Consecutive pieces of a run's work (sequences, blocks of samples): first .. last-1.
struct WorkRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t size() const { return last - first; }
};

// A part of a run that is done by itself: its pieces of work are shared out evenly.
struct Shard {
  int index = 1;  // 1 .. count
  int count = 1;
  // i/N. Throws UsageError naming the text.
  static Shard parse(const std::string& text);
  std::string text() const;
  // Of pieces 0 .. total-1: all shards within one of the same size.
  WorkRange of(std::int64_t total) const;
};

// The text of the artefact's option `shard`; none for a whole run.
std::optional<std::string> shard_of(const ScoreMap& map);

// Throws Error naming the first of program, options, seed, engine, model, text, BOS and
// interventions in which `found` differs from `expected`. The options shard, threads and memory do
// not count here: they change nothing that is measured.
void check_same_run(const Provenance& found, const Provenance& expected);

// The shards of one run, as they come in.
class ShardSet {
 public:
  // Throws Error when it is there already, or is of another number of shards than the first.
  void add(const Shard& shard, const std::string& name);
  // Throws Error naming the shards that did not come.
  void require_all() const;

 private:
  std::map<int, std::string> names_;  // by index
  std::string first_;
  int count_ = 0;
};

// What a run that may be interrupted leaves behind, written now and then. Removing it in the end is
// the caller's.
struct RunCheckpoint {
  std::filesystem::path file;  // none when empty
  double interval = 5;         // seconds between two of them, at least
  bool resume = false;         // go on from the file, where it exists
};

// When to write a checkpoint: `interval` seconds and fifty times its own duration apart at least,
// so that it costs 2 % of the time at most.
class CheckpointClock {
 public:
  explicit CheckpointClock(double interval);
  double seconds() const;  // since it was made
  // Calls save when it is time.
  void tick(const std::function<void()>& save);

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double interval_;
  double next_;
};

}  // namespace poslens
