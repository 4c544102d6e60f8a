#include "poslens/threads.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "poslens/error.h"

namespace poslens {
namespace {

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::atomic<int>& configured_threads() {
  static std::atomic<int> count = available_cores();
  return count;
}

// Hands out indices until none is left or a body has thrown.
class Loop {
 public:
  Loop(std::size_t count, const std::function<void(std::size_t, int)>& body)
      : count_(count), body_(body) {}

  void work(int worker) {
    while (!failed_.load(std::memory_order_relaxed)) {
      const std::size_t index = next_.fetch_add(1);
      if (index >= count_) return;
      try {
        body_(index, worker);
      } catch (...) {
        const std::scoped_lock lock(mutex_);
        if (index < failed_index_) {
          failed_index_ = index;
          error_ = std::current_exception();
        }
        failed_ = true;
      }
    }
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const std::size_t count_;
  const std::function<void(std::size_t, int)>& body_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::size_t failed_index_ = std::numeric_limits<std::size_t>::max();
  std::exception_ptr error_;
};

}  // namespace

int thread_count() { return configured_threads(); }

void set_thread_count(int count) {
  if (count < 1 || count > 1024) {
    throw Error("threads: expected 1 to 1024, found " + std::to_string(count));
  }
  configured_threads() = count;
  omp_set_num_threads(count);
}

void parallel_for(std::size_t count,
                  const std::function<void(std::size_t index, int worker)>& body) {
  Loop loop(count, body);
  const int workers = static_cast<int>(std::min<std::size_t>(
      static_cast<std::size_t>(thread_count()), std::max<std::size_t>(count, 1)));
#ifdef POSLENS_STD_THREADS
  std::vector<std::jthread> threads;
  for (int worker = 1; worker < workers; ++worker) {
    threads.emplace_back([&loop, worker] {
      omp_set_num_threads(1);
      loop.work(worker);
    });
  }
  const int own = omp_get_max_threads();
  omp_set_num_threads(1);
  loop.work(0);
  omp_set_num_threads(own);
  threads.clear();
#else
#pragma omp parallel num_threads(workers)
  {
    // A nested team of one, whatever OMP_MAX_ACTIVE_LEVELS says.
    const int own = omp_get_max_threads();
    omp_set_num_threads(1);
    loop.work(omp_get_thread_num());
    omp_set_num_threads(own);
  }
#endif
  loop.rethrow();
}

}  // namespace poslens
