#pragma once
// Sanitizers make tests many times slower; tests whose tolerance follows their sample count take
// fewer samples then.

namespace poslens::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

}  // namespace poslens::test
