#pragma once
// Builds safetensors files in memory, sound ones and, line by line, unsound ones.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace poslens {

class SafetensorsWriter {
 public:
  // A tensor behind those already there.
  void tensor(std::string_view name, std::string_view dtype,
              const std::vector<std::uint64_t>& shape, std::string_view content) {
    line(name, fmt::format(R"({{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", dtype,
                           fmt::join(shape, ","), data_.size(), data_.size() + content.size()));
    data_ += content;
  }
  void tensor(std::string_view name, const std::vector<std::uint64_t>& shape,
              std::span<const float> values) {
    tensor(name, "F32", shape, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  // Any JSON under a name of the header.
  void line(std::string_view name, std::string_view json) {
    header_ += fmt::format(R"({}"{}":{})", header_.empty() ? "" : ",", name, json);
  }
  void data(std::string_view content) { data_ += content; }

  std::string bytes() const { return file(fmt::format("{{{}}}", header_), data_); }
  void write(const std::string& path) const { std::ofstream(path, std::ios::binary) << bytes(); }

  // A file of any header and data.
  static std::string file(std::string_view header, std::string_view data) {
    return file_of_length(header.size(), header, data);
  }
  // The same with a length of the header that need not be true.
  static std::string file_of_length(std::uint64_t length, std::string_view header,
                                    std::string_view data) {
    std::string result(sizeof length, '\0');
    std::memcpy(result.data(), &length, sizeof length);
    return result.append(header).append(data);
  }

 private:
  std::string header_;  // without the braces
  std::string data_;
};

}  // namespace poslens
