#pragma once
// Runs a test body once for every instruction set that this machine has, the scalar one included.

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cstdint>
#include <functional>

namespace poslens::test {

// body(target) with only that target allowed; afterwards everything is allowed again.
inline void for_each_target(const std::function<void(std::int64_t target)>& body) {
  const std::int64_t supported = hwy::SupportedTargets();
  for (std::int64_t bits = supported & HWY_TARGETS; bits != 0; bits &= bits - 1) {
    const std::int64_t target = bits & -bits;
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    body(target);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace poslens::test
