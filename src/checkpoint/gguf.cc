#include "checkpoint/gguf.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <type_traits>

#include "checkpoint/gguf_reader.h"
#include "checkpoint/printable.h"

namespace poslens {
namespace {

// Metadata value types, by number.
enum class ValueType : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  text,
  array,
  u64,
  i64,
  f64,
};
constexpr std::uint32_t kValueTypes = 13;

// ggml's tensor types, by number; no name: never used, or withdrawn.
constexpr std::string_view kTensorTypes[] = {
    "F32",     "F16",   "Q4_0",   "Q4_1",  "",      "",       "Q5_0", "Q5_1",    "Q8_0",
    "Q8_1",    "Q2_K",  "Q3_K",   "Q4_K",  "Q5_K",  "Q6_K",   "Q8_K", "IQ2_XXS", "IQ2_XS",
    "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8",   "I16",     "I32",
    "I64",     "F64",   "IQ1_M",  "BF16",  "",      "",       "",     "TQ1_0",   "TQ2_0",
    "",        "",      "",       "MXFP4", "NVFP4", "Q1_0"};
constexpr TensorType kSupported[] = {
    TensorType::f32,    TensorType::f64,  TensorType::f16,  TensorType::bf16, TensorType::q4_0,
    TensorType::q4_1,   TensorType::q5_0, TensorType::q5_1, TensorType::q8_0, TensorType::q2_k,
    TensorType::q3_k,   TensorType::q4_k, TensorType::q5_k, TensorType::q6_k, TensorType::iq4_nl,
    TensorType::iq4_xs, TensorType::i8,   TensorType::i16,  TensorType::i32,  TensorType::i64};

// Calls visit with a value of the number type that `type` stands for; false for other types.
template <typename Visit>
bool visit_number_type(ValueType type, Visit visit) {
  switch (type) {
    case ValueType::u8:
      return visit(std::uint8_t{}), true;
    case ValueType::i8:
      return visit(std::int8_t{}), true;
    case ValueType::u16:
      return visit(std::uint16_t{}), true;
    case ValueType::i16:
      return visit(std::int16_t{}), true;
    case ValueType::u32:
      return visit(std::uint32_t{}), true;
    case ValueType::i32:
      return visit(std::int32_t{}), true;
    case ValueType::u64:
      return visit(std::uint64_t{}), true;
    case ValueType::i64:
      return visit(std::int64_t{}), true;
    case ValueType::f32:
      return visit(float{}), true;
    case ValueType::f64:
      return visit(double{}), true;
    default:
      return false;
  }
}

bool read_boolean(GgufReader& reader) {
  const auto value = reader.number<std::uint8_t>("value");
  if (value > 1) reader.fail("value", "0 or 1 for a boolean", fmt::format("{}", value));
  return value == 1;
}

ValueType read_value_type(GgufReader& reader, std::string_view field) {
  const auto number = reader.number<std::uint32_t>(field);
  if (number >= kValueTypes) {
    reader.fail(field, fmt::format("a number below {}", kValueTypes), fmt::format("{}", number));
  }
  return ValueType{number};
}

MetadataValue read_array(GgufReader& reader) {
  const ValueType type = read_value_type(reader, "element type");
  if (type == ValueType::array) reader.fail("element type", "no array", "an array of arrays");
  if (type == ValueType::text) {
    std::vector<std::string> texts(reader.count(8, "array length"));
    for (std::string& text : texts) text = reader.text("array element");
    return texts;
  }
  if (type == ValueType::boolean) {
    std::vector<bool> flags(reader.count(1, "array length"));
    for (auto flag : flags) flag = read_boolean(reader);
    return flags;
  }
  MetadataValue result;
  visit_number_type(type, [&](auto zero) {
    using T = decltype(zero);
    using Wide = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
    std::vector<Wide> values(reader.count(sizeof(T), "array length"));
    for (Wide& wide : values) {
      const T value = reader.number<T>("array element");
      if (std::is_same_v<T, std::uint64_t> && value > std::numeric_limits<std::int64_t>::max()) {
        reader.fail("array element", "a number below 2^63", fmt::format("{}", value));
      }
      // NOLINTNEXTLINE(bugprone-signed-char-misuse): an int8 is a number here
      wide = static_cast<Wide>(value);
    }
    result = std::move(values);
  });
  return result;
}

MetadataValue read_value(GgufReader& reader) {
  const ValueType type = read_value_type(reader, "value type");
  if (type == ValueType::array) return read_array(reader);
  if (type == ValueType::text) return reader.text("value");
  if (type == ValueType::boolean) return read_boolean(reader);
  MetadataValue result;
  visit_number_type(type, [&](auto zero) {
    using T = decltype(zero);
    const T value = reader.number<T>("value");
    if constexpr (std::is_floating_point_v<T>) {
      result = double{value};
    } else if (std::is_same_v<T, std::uint64_t> &&
               value > std::numeric_limits<std::int64_t>::max()) {
      result = static_cast<std::uint64_t>(value);
    } else {
      result = static_cast<std::int64_t>(value);
    }
  });
  return result;
}

void read_metadata(GgufReader& reader, std::size_t count, GgufContents& contents) {
  for (std::size_t i = 0; i < count; ++i) {
    reader.set_item(fmt::format("metadata entry {}", i));
    std::string key = reader.text("key");
    reader.set_item("metadata " + printable(key));
    MetadataValue value = read_value(reader);
    if (!contents.metadata.emplace(std::move(key), std::move(value)).second) {
      reader.fail("key", "each key once", "it twice");
    }
  }
}

std::size_t alignment_of(GgufReader& reader, const GgufContents& contents) {
  const auto found = contents.metadata.find("general.alignment");
  if (found == contents.metadata.end()) return 32;
  const auto* value = std::get_if<std::int64_t>(&found->second);
  constexpr std::int64_t kLargest = 1 << 30;
  if (value == nullptr || *value < 1 || *value > kLargest ||
      !std::has_single_bit(static_cast<std::uint64_t>(*value))) {
    reader.set_item("metadata 'general.alignment'");
    reader.fail("", "a power of two up to 2^30",
                value == nullptr ? "a value of another type" : fmt::format("{}", *value));
  }
  return static_cast<std::size_t>(*value);
}

TensorType read_tensor_type(GgufReader& reader) {
  const auto number = reader.number<std::uint32_t>("type");
  const std::string_view name = number < std::size(kTensorTypes) && !kTensorTypes[number].empty()
                                    ? kTensorTypes[number]
                                    : "an unknown one";
  std::string known;
  for (const TensorType type : kSupported) {
    if (to_string(type) == name) return type;
    known += (known.empty() ? "" : ", ") + to_string(type);
  }
  reader.fail("type", "one of " + known, fmt::format("{} (number {})", name, number));
}

// Extents in row-major order; their product fits into an int64.
std::vector<std::int64_t> read_shape(GgufReader& reader) {
  constexpr std::uint32_t kLargestRank = 4;
  const auto rank = reader.number<std::uint32_t>("rank");
  if (rank < 1 || rank > kLargestRank) {
    reader.fail("rank", fmt::format("1 to {}", kLargestRank), fmt::format("{}", rank));
  }
  std::vector<std::int64_t> shape(rank);
  std::int64_t elements = 1;
  for (std::uint32_t i = 0; i < rank; ++i) {
    const auto extent = reader.number<std::uint64_t>("shape");
    const auto limit = std::numeric_limits<std::int64_t>::max() / elements;
    if (extent < 1 || extent > static_cast<std::uint64_t>(limit)) {
      reader.fail("shape", "extents from 1 whose product is below 2^63",
                  fmt::format("an extent of {}", extent));
    }
    shape[rank - 1 - i] = static_cast<std::int64_t>(extent);
    elements *= static_cast<std::int64_t>(extent);
  }
  return shape;
}

struct Placed {
  std::size_t offset = 0;  // in the data
  std::size_t size = 0;
  std::size_t tensor = 0;
};

std::size_t byte_size(GgufReader& reader, const TensorEntry& tensor) {
  const TensorLayout layout = layout_of(tensor.type);
  if (tensor.shape.back() % layout.block_elements != 0) {
    reader.fail("shape",
                fmt::format("rows of a multiple of {} elements for type {}", layout.block_elements,
                            to_string(tensor.type)),
                fmt::format("{}", tensor.shape.back()));
  }
  const auto blocks = static_cast<std::uint64_t>(tensor.elements() / layout.block_elements);
  const auto block_bytes = static_cast<std::uint64_t>(layout.block_bytes);
  if (blocks > std::numeric_limits<std::uint64_t>::max() / block_bytes) {
    reader.fail("shape", "less than 2^64 bytes", fmt::format("{} blocks", blocks));
  }
  return blocks * block_bytes;
}

std::vector<Placed> read_tensors(GgufReader& reader, std::size_t count, std::size_t alignment,
                                 GgufContents& contents) {
  std::vector<Placed> places;
  std::set<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    TensorEntry tensor;
    reader.set_item(fmt::format("tensor {}", i));
    tensor.name = reader.text("name");
    reader.set_item("tensor " + printable(tensor.name));
    if (!names.insert(tensor.name).second) reader.fail("name", "each name once", "it twice");
    tensor.shape = read_shape(reader);
    tensor.type = read_tensor_type(reader);
    const auto offset = reader.number<std::uint64_t>("offset");
    if (offset % alignment != 0) {
      reader.fail("offset", fmt::format("a multiple of the alignment {}", alignment),
                  fmt::format("{}", offset));
    }
    places.push_back({offset, byte_size(reader, tensor), i});
    contents.tensors.push_back(std::move(tensor));
  }
  return places;
}

// Gives each tensor its bytes, after seeing that all lie within the data and apart.
void place(GgufReader& reader, std::span<const std::byte> data, std::vector<Placed> places,
           std::vector<TensorEntry>& tensors) {
  std::ranges::sort(places, {}, &Placed::offset);
  const Placed* before = nullptr;
  for (const Placed& now : places) {
    reader.set_item("tensor " + printable(tensors[now.tensor].name));
    if (now.offset > data.size() || now.size > data.size() - now.offset) {
      reader.fail("data", fmt::format("{} bytes at offset {} of the data", now.size, now.offset),
                  fmt::format("data of {} bytes: the file is cut off or damaged", data.size()));
    }
    if (before != nullptr && now.offset < before->offset + before->size) {
      reader.fail("offset",
                  fmt::format("at least {}, where {} ends", before->offset + before->size,
                              printable(tensors[before->tensor].name)),
                  fmt::format("{}", now.offset));
    }
    tensors[now.tensor].bytes = data.subspan(now.offset, now.size);
    before = &now;
  }
}

// What a file that is not GGUF looks like.
std::string looks_like(std::string_view file) {
  if (file.empty()) return "an empty file";
  std::string guess;
  if (file.starts_with("PK\x03\x04")) {
    guess = ", a zip archive, as PyTorch writes";
  } else if (file.starts_with("\x80\x02") || file.starts_with("\x80\x04")) {
    guess = ", a Python pickle";
  } else if (file.size() > 9 && file.substr(8).starts_with("{\"")) {
    guess = ", which looks like safetensors";
  } else if (file.starts_with("version https://git-lfs")) {
    guess = ", a Git LFS pointer in place of the file";
  } else if (file.starts_with("ggml") || file.starts_with("lmgg") || file.starts_with("tjgg")) {
    guess = ", a format older than GGUF";
  }
  return fmt::format("{}{}", printable(file.substr(0, 12)), guess);
}

std::uint32_t read_version(GgufReader& reader, std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with("GGUF")) reader.fail("first bytes", "\"GGUF\"", looks_like(text));
  reader.bytes(4, "first bytes");
  const auto version = reader.number<std::uint32_t>("version");
  if (version == 2 || version == 3) return version;
  const bool swapped = version != 0 && (version & 0xffff) == 0;
  reader.fail("version", "2 or 3, little-endian",
              swapped ? "a big-endian file" : fmt::format("{}", version));
}

}  // namespace

bool looks_like_gguf(std::span<const std::byte> file) {
  return file.size() >= 4 && std::memcmp(file.data(), "GGUF", 4) == 0;
}

GgufContents parse_gguf(std::span<const std::byte> file, const std::string& file_name) {
  GgufReader reader(file, file_name);
  GgufContents contents;
  contents.version = read_version(reader, file);
  // The smallest tensor description has a name length, a rank, one extent, a type and an offset;
  // the smallest metadata entry a key length, a type and a byte.
  const std::size_t tensor_count = reader.count(8 + 4 + 8 + 4 + 8, "tensor count");
  const std::size_t metadata_count = reader.count(8 + 4 + 1, "metadata count");
  read_metadata(reader, metadata_count, contents);
  const std::size_t alignment = alignment_of(reader, contents);
  std::vector<Placed> places = read_tensors(reader, tensor_count, alignment, contents);
  contents.header_bytes = reader.position();

  const std::size_t start = (reader.position() + alignment - 1) / alignment * alignment;
  const auto data = start < file.size() ? file.subspan(start) : std::span<const std::byte>{};
  place(reader, data, std::move(places), contents.tensors);
  return contents;
}

}  // namespace poslens
