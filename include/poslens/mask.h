#pragma once
// Attention masks: which keys a query may see.

#include <cstdint>
#include <string>
#include <string_view>

namespace poslens {

// Positions first, first + step, ..., below last.
struct KeyRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t step = 1;

  bool contains(std::int64_t key) const {
    return key >= first && key < last && (key - first) % step == 0;
  }
};

struct Mask {
  enum class Kind {
    causal,   // j <= i
    full,     // every j
    window,   // 0 <= i - j < size
    prefix,   // j <= i, and the first `size` positions all see each other
    strided,  // j <= i and i - j is a multiple of size; for theory and simulation only
  };
  Kind kind = Kind::causal;
  std::int64_t size = 0;

  bool operator==(const Mask&) const = default;

  // The keys that query i of n sees: itself at least. Without gaps (step 1) unless strided.
  KeyRange keys(std::int64_t query, std::int64_t n) const;
  bool visible(std::int64_t query, std::int64_t key) const;
  // No query sees a later key.
  bool is_causal() const { return kind != Kind::full && kind != Kind::prefix; }

  // causal, full, window:W, prefix:K or strided:K with W, K >= 1. Throws UsageError naming the
  // text.
  static Mask parse(std::string_view text);
  // The text that parse() takes.
  std::string text() const;
};

}  // namespace poslens
