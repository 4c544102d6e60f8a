#pragma once
// Builds GGUF files in memory, sound ones and, through its knobs, unsound ones.

#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace poslens {

// Value and tensor types are numbers, as GGUF has them: 4 u32, 5 i32, 6 f32, 7 bool, 8 text, …;
// 0 F32, 1 F16, 2 Q4_0, …
class GgufWriter {
 public:
  std::uint32_t version = 3;
  std::size_t alignment = 32;                 // of the data; write general.alignment yourself
  std::optional<std::uint64_t> tensor_count;  // in place of the true ones
  std::optional<std::uint64_t> metadata_count;

  // Metadata.
  void integer(std::string_view key, std::uint32_t value) { scalar(key, 4, value); }
  void number(std::string_view key, float value) { scalar(key, 6, value); }
  void boolean(std::string_view key, bool value) { scalar(key, 7, static_cast<char>(value)); }
  void text(std::string_view key, std::string_view value) { entry(key, 8, counted(value)); }
  void texts(std::string_view key, const std::vector<std::string>& values) {
    std::string body = raw(std::uint32_t{8}) + raw(std::uint64_t{values.size()});
    for (const std::string& value : values) body += counted(value);
    entry(key, 9, body);
  }
  void integers(std::string_view key, const std::vector<std::int32_t>& values) {
    std::string body = raw(std::uint32_t{5}) + raw(std::uint64_t{values.size()});
    for (const std::int32_t value : values) body += raw(value);
    entry(key, 9, body);
  }
  template <typename T>
  void scalar(std::string_view key, std::uint32_t type, T value) {
    entry(key, type, raw(value));
  }
  // Anything: the value's bytes as they are to stand in the file.
  void entry(std::string_view key, std::uint32_t type, std::string_view value) {
    ++metadata_entries_;
    metadata_ += counted(key) + raw(type) + std::string(value);
  }

  // A tensor of row-major shape, behind those already there, or at an offset.
  void tensor(std::string_view name, const std::vector<std::uint64_t>& shape, std::uint32_t type,
              std::string_view content, std::optional<std::uint64_t> offset = {}) {
    ++tensors_;
    data_.resize((data_.size() + alignment - 1) / alignment * alignment);
    tensor_headers_ += counted(name) + raw(static_cast<std::uint32_t>(shape.size()));
    for (std::size_t i = shape.size(); i-- > 0;) tensor_headers_ += raw(shape[i]);
    tensor_headers_ += raw(type) + raw(offset.value_or(data_.size()));
    data_ += content;
  }
  void tensor(std::string_view name, const std::vector<std::uint64_t>& shape,
              std::span<const float> values) {
    tensor(name, shape, 0, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }

  std::string header() const {
    return "GGUF" + raw(version) + raw(tensor_count.value_or(tensors_)) +
           raw(metadata_count.value_or(metadata_entries_)) + metadata_ + tensor_headers_;
  }
  std::string bytes() const {
    std::string file = header();
    file.resize((file.size() + alignment - 1) / alignment * alignment);
    return file + data_;
  }
  void write(const std::string& path) const { std::ofstream(path, std::ios::binary) << bytes(); }

  template <typename T>
  static std::string raw(T value) {
    std::string result(sizeof value, '\0');
    std::memcpy(result.data(), &value, sizeof value);
    return result;
  }
  static std::string counted(std::string_view text) {
    return raw(std::uint64_t{text.size()}) + std::string(text);
  }

 private:
  std::uint64_t metadata_entries_ = 0;
  std::uint64_t tensors_ = 0;
  std::string metadata_;
  std::string tensor_headers_;
  std::string data_;
};

}  // namespace poslens
