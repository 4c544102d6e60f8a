#include "poslens/mask.h"

#include <algorithm>
#include <charconv>

#include "poslens/error.h"

namespace poslens {
namespace {

std::int64_t parse_size(std::string_view digits, std::string_view whole) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() || value < 1) {
    throw UsageError("mask '" + std::string(whole) + "': expected a whole number from 1 after ':'");
  }
  return value;
}

}  // namespace

KeyRange Mask::keys(std::int64_t query, std::int64_t n) const {
  switch (kind) {
    case Kind::full:
      return {0, n};
    case Kind::window:
      return {std::max<std::int64_t>(0, query - size + 1), query + 1};
    case Kind::prefix:
      return {0, query < size ? std::min(size, n) : query + 1};
    case Kind::strided:
      return {query % size, query + 1, size};
    case Kind::causal:
      break;
  }
  return {0, query + 1};
}

bool Mask::visible(std::int64_t query, std::int64_t key) const {
  return keys(query, std::max(query, key) + 1).contains(key);
}

Mask Mask::parse(std::string_view text) {
  if (text == "causal") return {Kind::causal, 0};
  if (text == "full") return {Kind::full, 0};
  if (text.starts_with("window:")) return {Kind::window, parse_size(text.substr(7), text)};
  if (text.starts_with("prefix:")) return {Kind::prefix, parse_size(text.substr(7), text)};
  if (text.starts_with("strided:")) return {Kind::strided, parse_size(text.substr(8), text)};
  throw UsageError("mask '" + std::string(text) +
                   "': expected causal, full, window:W, prefix:K or strided:K");
}

std::string Mask::text() const {
  switch (kind) {
    case Kind::full:
      return "full";
    case Kind::window:
      return "window:" + std::to_string(size);
    case Kind::prefix:
      return "prefix:" + std::to_string(size);
    case Kind::strided:
      return "strided:" + std::to_string(size);
    case Kind::causal:
      break;
  }
  return "causal";
}

}  // namespace poslens
