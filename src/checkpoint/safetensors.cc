#include "checkpoint/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "checkpoint/json.h"
#include "checkpoint/printable.h"
#include "poslens/error.h"

namespace poslens {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // the reference reader's limit
constexpr std::size_t kLargestRank = 8;

constexpr std::pair<std::string_view, TensorType> kTypes[] = {
    {"F64", TensorType::f64},   {"F32", TensorType::f32},         {"F16", TensorType::f16},
    {"BF16", TensorType::bf16}, {"BOOL", TensorType::boolean},    {"U8", TensorType::u8},
    {"I8", TensorType::i8},     {"U16", TensorType::u16},         {"I16", TensorType::i16},
    {"U32", TensorType::u32},   {"I32", TensorType::i32},         {"U64", TensorType::u64},
    {"I64", TensorType::i64},   {"F8_E4M3", TensorType::f8_e4m3}, {"F8_E5M2", TensorType::f8_e5m2}};

[[noreturn]] void fail(const std::string& file_name, std::string_view item,
                       std::string_view expected, std::string_view found) {
  throw Error(fmt::format("{}: {}: expected {}, found {}", file_name, item, expected, found));
}

TensorType type_named(const std::string& file_name, const std::string& item,
                      const std::string& name) {
  std::string known;
  for (const auto& [known_name, type] : kTypes) {
    if (known_name == name) return type;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", known_name);
  }
  fail(file_name, item, fmt::format("one of {}", known), printable(name));
}

// A tensor's line of the header as it stands there.
struct Line {
  std::string name;
  std::optional<TensorType> type;
  std::optional<std::vector<std::uint64_t>> shape;
  std::optional<std::vector<std::uint64_t>> offsets;
};

// Takes the header's JSON event by event, so that nothing is kept of what does not belong.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(const std::string& file_name) : file_name_(file_name) {}

  std::vector<Line> take_lines() { return std::move(lines_); }

  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("a boolean"); }
  bool number_integer(std::int64_t value) override { return refuse(fmt::to_string(value)); }
  bool number_float(double, const std::string& text) override { return refuse(text); }
  bool binary(binary_t&) override { return refuse("binary data"); }

  bool number_unsigned(std::uint64_t value) override {
    if (list_ == nullptr) return refuse(fmt::to_string(value));
    if (list_->size() == longest_) {
      fail(file_name_, item(), fmt::format("at most {} numbers", longest_), "more");
    }
    list_->push_back(value);
    return true;
  }

  bool string(std::string& text) override {
    if (level_ == 2 && in_metadata_) return true;
    if (level_ != 2 || field_ != "dtype") return refuse(printable(text));
    lines_.back().type = type_named(file_name_, item(), text);
    return true;
  }

  bool start_object(std::size_t) override {
    if (level_ >= 2) return refuse("an object");
    if (++level_ == 2) {
      fields_.clear();
      field_.clear();
      if (!in_metadata_) lines_.emplace_back().name = name_;
    }
    return true;
  }

  bool key(std::string& text) override {
    if (level_ == 1) {
      name_ = text;
      field_.clear();
      in_metadata_ = text == "__metadata__";
      if (!names_.insert(text).second) fail(file_name_, item(), "each name once", "it twice");
      return true;
    }
    field_ = text;
    if (!fields_.insert(text).second) fail(file_name_, item(), "each key once", "it twice");
    if (!in_metadata_ && text != "dtype" && text != "shape" && text != "data_offsets") {
      fail(file_name_, item(), "dtype, shape or data_offsets", "another key");
    }
    return true;
  }

  bool end_object() override {
    if (--level_ == 1 && !in_metadata_) {
      const Line& line = lines_.back();
      field_.clear();
      if (!line.type || !line.shape || !line.offsets) {
        fail(file_name_, item(), "dtype, shape and data_offsets",
             fmt::format("no {}", !line.type    ? "dtype"
                                  : !line.shape ? "shape"
                                                : "data_offsets"));
      }
    }
    return true;
  }

  bool start_array(std::size_t) override {
    const bool expected = level_ == 2 && !in_metadata_ && list_ == nullptr && field_ != "dtype";
    if (!expected) return refuse("a list");
    const bool is_shape = field_ == "shape";
    auto& list = is_shape ? lines_.back().shape : lines_.back().offsets;
    list_ = &list.emplace();
    longest_ = is_shape ? kLargestRank : 2;
    return true;
  }

  bool end_array() override {
    if (field_ == "data_offsets" && list_->size() != 2) {
      fail(file_name_, item(), "two numbers", fmt::to_string(list_->size()));
    }
    list_ = nullptr;
    return true;
  }

  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::json::exception& exception) override {
    fail(file_name_, "header", "JSON", parse_problem(exception));
  }

 private:
  // "tensor 'x', shape"
  std::string item() const {
    if (level_ == 0 || (level_ == 1 && name_.empty())) return "header";
    return fmt::format("tensor {}{}{}", printable(name_), field_.empty() ? "" : ", ",
                       field_.empty() ? field_ : printable(field_));
  }

  bool refuse(std::string_view found) const {
    std::string_view expected = "an object of dtype, shape and data_offsets";
    if (level_ == 0) expected = "an object";
    if (level_ == 2) expected = field_ == "dtype" ? "the name of a type" : "a list";
    if (level_ == 2 && in_metadata_) expected = "a text";
    if (list_ != nullptr) expected = "numbers from 0";
    fail(file_name_, item(), expected, found);
  }

  const std::string& file_name_;
  std::vector<Line> lines_;
  std::set<std::string> names_;   // so far
  std::set<std::string> fields_;  // of this tensor so far
  std::string name_;
  std::string field_;
  int level_ = 0;  // of objects: 1 in the header, 2 in a tensor's line or the metadata
  bool in_metadata_ = false;
  std::vector<std::uint64_t>* list_ = nullptr;  // that is being read
  std::size_t longest_ = 0;
};

// Extents whose product (those of 0 left out) fits into an int64 with the bytes it takes.
std::vector<std::int64_t> checked_shape(const std::string& file_name, const std::string& item,
                                        const std::vector<std::uint64_t>& extents,
                                        std::int64_t element_bytes) {
  std::vector<std::int64_t> shape;
  std::int64_t bytes = element_bytes;
  for (const std::uint64_t extent : extents) {
    const auto limit = std::numeric_limits<std::int64_t>::max() / bytes;
    if (extent > static_cast<std::uint64_t>(limit)) {
      fail(file_name, item, "a shape of less than 2^63 bytes",
           fmt::format("an extent of {}", extent));
    }
    shape.push_back(static_cast<std::int64_t>(extent));
    bytes *= std::max<std::int64_t>(shape.back(), 1);
  }
  return shape;
}

TensorEntry place(const std::string& file_name, const Line& line, std::span<const std::byte> data) {
  TensorEntry tensor;
  tensor.name = line.name;
  tensor.type = *line.type;
  const std::string item = fmt::format("tensor {}", printable(line.name));
  const std::int64_t element_bytes = layout_of(tensor.type).block_bytes;
  tensor.shape = checked_shape(file_name, item, *line.shape, element_bytes);
  const std::uint64_t begin = line.offsets->front(), end = line.offsets->back();
  const auto size = static_cast<std::uint64_t>(tensor.elements() * element_bytes);
  if (begin > end || end - begin != size) {
    fail(file_name, item,
         fmt::format("data_offsets {} apart, for its shape and type {}", size,
                     to_string(tensor.type)),
         fmt::format("{} to {}", begin, end));
  }
  if (end > data.size()) {
    fail(file_name, item, fmt::format("data up to byte {}", end),
         fmt::format("data of {} bytes: the file is cut off or damaged", data.size()));
  }
  tensor.bytes = data.subspan(begin, size);
  return tensor;
}

void check_overlap(const std::string& file_name, const std::vector<TensorEntry>& tensors) {
  std::vector<const TensorEntry*> order;
  for (const TensorEntry& tensor : tensors) {
    if (!tensor.bytes.empty()) order.push_back(&tensor);
  }
  std::ranges::sort(order, {}, [](const TensorEntry* tensor) { return tensor->bytes.data(); });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const TensorEntry& before = *order[i - 1];
    if (order[i]->bytes.data() < before.bytes.data() + before.bytes.size()) {
      fail(file_name, fmt::format("tensor {}", printable(order[i]->name)),
           "data_offsets apart from other tensors'",
           fmt::format("an overlap with {}", printable(before.name)));
    }
  }
}

}  // namespace

SafetensorsContents parse_safetensors(std::span<const std::byte> file,
                                      const std::string& file_name) {
  if (file.size() < kLengthBytes) {
    fail(file_name, "header length", "8 bytes",
         fmt::format("{}: the file is cut off or damaged", file.size()));
  }
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  const std::span<const std::byte> rest = file.subspan(kLengthBytes);
  if (length > rest.size() || length > kLongestHeader) {
    fail(file_name, "header length",
         fmt::format("at most {}", std::min<std::uint64_t>(rest.size(), kLongestHeader)),
         fmt::format("{}: no safetensors file, or cut off", length));
  }
  const char* header = reinterpret_cast<const char*>(rest.data());
  HeaderReader reader(file_name);
  nlohmann::json::sax_parse(header, header + length, &reader);

  SafetensorsContents contents;
  contents.header_bytes = kLengthBytes + length;
  for (const Line& line : reader.take_lines()) {
    contents.tensors.push_back(place(file_name, line, rest.subspan(length)));
  }
  check_overlap(file_name, contents.tensors);
  return contents;
}

}  // namespace poslens
