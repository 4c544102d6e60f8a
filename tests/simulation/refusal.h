#pragma once
// What options are refused with.

#include <string>

#include "poslens/error.h"
#include "poslens/simulation.h"

namespace poslens::test {

// The message of the UsageError that changed options get, or "accepted".
template <typename Change>
std::string refusal(SimulationOptions options, const Change& change) {
  change(options);
  try {
    options.validate();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace poslens::test
