#pragma once
// Reads a GGUF header from front to back; every read is checked against the bytes that are left.

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "poslens/error.h"

namespace poslens {

static_assert(std::endian::native == std::endian::little, "GGUF files are read as they lie");

class GgufReader {
 public:
  GgufReader(std::span<const std::byte> file, const std::string& file_name)
      : file_(file), file_name_(file_name) {}

  std::size_t position() const { return position_; }
  std::size_t left() const { return file_.size() - position_; }

  // What is being read, for messages: "metadata 'general.name'".
  void set_item(std::string item) { item_ = std::move(item); }

  [[noreturn]] void fail(std::string_view field, std::string_view expected,
                         std::string_view found) const {
    throw Error(fmt::format("{}: {}{}{}: expected {}, found {}", file_name_, item_,
                            item_.empty() || field.empty() ? "" : ", ", field, expected, found));
  }

  std::span<const std::byte> bytes(std::size_t count, std::string_view field) {
    if (count > left()) {
      fail(field, fmt::format("{} bytes at offset {}", count, position_),
           fmt::format("{}: the file is cut off or damaged", left()));
    }
    const auto result = file_.subspan(position_, count);
    position_ += count;
    return result;
  }

  template <typename T>
  T number(std::string_view field) {
    T value;
    std::memcpy(&value, bytes(sizeof value, field).data(), sizeof value);
    return value;
  }

  // A number of things that take at least `smallest` bytes each.
  std::size_t count(std::size_t smallest, std::string_view field) {
    const auto value = number<std::uint64_t>(field);
    if (value > left() / smallest) {
      fail(field,
           fmt::format("at most {} in the {} bytes that are left", left() / smallest, left()),
           fmt::format("{}: the file is cut off or damaged", value));
    }
    return value;
  }

  std::string text(std::string_view field) {
    const auto content = bytes(count(1, field), field);
    return {reinterpret_cast<const char*>(content.data()), content.size()};
  }

 private:
  std::span<const std::byte> file_;
  const std::string& file_name_;
  std::size_t position_ = 0;
  std::string item_;
};

}  // namespace poslens
