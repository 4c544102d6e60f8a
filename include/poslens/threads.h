#pragma once
// All parallelism of the library goes through here, so that one option sets it and the thread
// sanitizer can check it (docs/architecture.md).

#include <cstddef>
#include <functional>

namespace poslens {

// Threads that parallel_for uses: the cores this process may run on, unless set.
int thread_count();

// Throws Error unless count is in 1..1024.
void set_thread_count(int count);

// Calls body(index, worker) for every index below count, in any order; worker is below
// thread_count() and no two calls with the same worker overlap. Indices are handed out in
// ascending order. Inside the body, libraries that thread themselves (oneDNN) run single-threaded.
// An exception ends the loop early; that of the lowest index is rethrown here, so that the same
// fault gives the same message for any thread count.
void parallel_for(std::size_t count,
                  const std::function<void(std::size_t index, int worker)>& body);

}  // namespace poslens
