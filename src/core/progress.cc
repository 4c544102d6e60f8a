#include "poslens/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <utility>

namespace poslens {
namespace {

std::atomic<bool> quiet_requested = false;

double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string with_prefix(double value) {
  if (value >= 1e6) return fmt::format("{:.1f} M ", value / 1e6);
  if (value >= 1e3) return fmt::format("{:.1f} k ", value / 1e3);
  return fmt::format("{:.0f} ", value);
}

// "12 s", "3 min", "2 h 5 min"
std::string duration(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  const auto minutes = std::llround(seconds / 60);
  if (minutes < 120) return fmt::format("{} min", minutes);
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

}  // namespace

std::string progress_line(const std::string& label, double done, double total,
                          const std::string& units, double seconds) {
  const double share = total > 0 ? std::clamp(done / total, 0.0, 1.0) : 0.0;
  const double left = share > 0 ? seconds * (1 - share) / share : 0.0;
  return fmt::format("{}  {:.0f} %  {}{}/s  {} left", label, 100 * share,
                     with_prefix(done / seconds), units, duration(left));
}

Progress::Progress(std::string label, double total, std::string units)
    : label_(std::move(label)), total_(total), units_(std::move(units)) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void Progress::set_quiet(bool quiet) { quiet_requested = quiet; }

void Progress::advance(double amount) {
  const std::scoped_lock lock(mutex_);
  done_ += amount;
  const Clock::time_point now = Clock::now();
  if (seconds(now - start_) < 2.0 || seconds(now - last_) < 0.2) return;
  last_ = now;
  if (!quiet_requested && isatty(STDERR_FILENO) != 0) show(now);
}

void Progress::show(Clock::time_point now) {
  fmt::print(stderr, "\r\x1b[K{}",
             progress_line(label_, done_, total_, units_, seconds(now - start_)));
  std::fflush(stderr);
  shown_ = true;
}

}  // namespace poslens
