#pragma once
// Progress of long work, on stderr, for a person who waits.

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

namespace poslens {

// "label  42 %  3.1 k tokens/s  12 s left", once `done` of `total` units took that many seconds.
std::string progress_line(const std::string& label, double done, double total,
                          const std::string& units, double seconds);

// Shows that line from two seconds after its start and at most five times a second, when stderr is
// a terminal and quiet was not asked for. Safe to call from several threads. The line is cleared
// when the object goes.
class Progress {
 public:
  // total: how much work there is, in units (a plural noun).
  Progress(std::string label, double total, std::string units);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(double amount);

  // Switches all progress off (--quiet).
  static void set_quiet(bool quiet);

 private:
  using Clock = std::chrono::steady_clock;
  void show(Clock::time_point now);

  std::string label_;
  double total_;
  std::string units_;
  double done_ = 0;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
  std::mutex mutex_;
};

}  // namespace poslens
