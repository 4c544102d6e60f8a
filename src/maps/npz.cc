#include "poslens/npz.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zip.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "poslens/atomic_file.h"
#include "poslens/error.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;

struct TypeName {
  ArrayType type;
  std::string_view descr;
  std::size_t size;
};
constexpr TypeName kTypes[] = {{ArrayType::f32, "<f4", 4},
                               {ArrayType::f64, "<f8", 8},
                               {ArrayType::i32, "<i4", 4},
                               {ArrayType::i64, "<i8", 8}};

const TypeName& names_of(ArrayType type) {
  return *std::find_if(std::begin(kTypes), std::end(kTypes),
                       [&](const TypeName& name) { return name.type == type; });
}

template <typename T>
ArrayRef make_ref(std::string name, std::vector<std::int64_t> shape, ArrayType type,
                  std::span<const T> values) {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  if (product != static_cast<std::int64_t>(values.size())) {
    throw std::logic_error(name + ": values do not fill the shape");
  }
  return {std::move(name), type, std::move(shape), std::as_bytes(values)};
}

// The .npy header, version 1.0 of the format, padded so that the data start at a multiple of 64.
std::string npy_header(const ArrayRef& array) {
  std::string shape;
  for (const std::int64_t extent : array.shape) shape += fmt::format("{}, ", extent);
  std::string dictionary = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                       names_of(array.type).descr, shape);
  const std::size_t unpadded = 10 + dictionary.size() + 1;
  dictionary.append((64 - unpadded % 64) % 64, ' ');
  dictionary += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(dictionary.size() & 0xff);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

// Bytes handed to libzip piece by piece, so that header and values need not be joined.
struct EntrySource {
  std::string header;
  std::span<const std::byte> body;
  std::size_t position = 0;

  std::size_t size() const { return header.size() + body.size(); }
  std::size_t read(char* out, std::size_t wanted) {
    std::size_t done = 0;
    while (done < wanted && position < size()) {
      const bool in_header = position < header.size();
      const char* from =
          in_header ? header.data() + position
                    : reinterpret_cast<const char*>(body.data()) + (position - header.size());
      const std::size_t left = in_header ? header.size() - position : size() - position;
      const std::size_t step = std::min(left, wanted - done);
      std::memcpy(out + done, from, step);
      done += step;
      position += step;
    }
    return done;
  }
};

zip_int64_t entry_callback(void* user, void* data, zip_uint64_t length, zip_source_cmd_t command) {
  auto* source = static_cast<EntrySource*>(user);
  switch (command) {
    case ZIP_SOURCE_OPEN:
      source->position = 0;
      return 0;
    case ZIP_SOURCE_READ:
      return static_cast<zip_int64_t>(source->read(static_cast<char*>(data), length));
    case ZIP_SOURCE_STAT: {
      auto* stat = static_cast<zip_stat_t*>(data);
      zip_stat_init(stat);
      stat->size = source->size();
      stat->mtime = 0;  // the same values give the same file
      stat->valid = ZIP_STAT_SIZE | ZIP_STAT_MTIME;
      return sizeof *stat;
    }
    case ZIP_SOURCE_ERROR:
      std::memset(data, 0, 2 * sizeof(int));
      return 2 * sizeof(int);
    case ZIP_SOURCE_SUPPORTS:
      return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
                                            ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, -1);
    default:
      return 0;
  }
}

struct ArchiveCloser {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, ArchiveCloser>;

Archive open_archive(const fs::path& path, int flags) {
  int code = 0;
  Archive archive(zip_open(path.c_str(), flags, &code));
  if (archive) return archive;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string why = zip_error_strerror(&error);
  zip_error_fini(&error);
  throw Error(path.string() + ": expected an .npz archive: " + why);
}

void add_entry(zip_t* archive, const std::string& name, EntrySource& entry, const fs::path& path) {
  zip_source_t* source = zip_source_function(archive, entry_callback, &entry);
  const zip_int64_t index =
      source == nullptr ? -1 : zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    throw Error(path.string() + ": " + name + ": " + zip_strerror(archive));
  }
  // Scores are noise in their low bits: deflating them takes longer than many a run and saves
  // little.
  zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0);
}

// One field of the header's dictionary, from behind its colon to the end of its value.
std::optional<std::string_view> header_field(std::string_view header, std::string_view key,
                                             char last) {
  const std::size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = header.substr(at + key.size() + 3);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  const std::size_t end = rest.find(last, 1);
  if (end == std::string_view::npos) return std::nullopt;
  return rest.substr(0, end);
}

std::optional<std::vector<std::int64_t>> parse_shape(std::string_view text) {
  if (text.empty() || text.front() != '(') return std::nullopt;
  text.remove_prefix(1);
  std::vector<std::int64_t> shape;
  while (true) {
    while (!text.empty() && (text.front() == ' ' || text.front() == ',')) text.remove_prefix(1);
    if (text.empty()) return shape;
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc{} || extent < 0) return std::nullopt;
    shape.push_back(extent);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
}

Array parse_npy(std::vector<std::byte> content, const std::string& where) {
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  if (!text.starts_with("\x93NUMPY") || text.size() < 12) {
    throw Error(where + ": expected a NumPy array, found no NumPy header");
  }
  const auto byte = [&](std::size_t at) {
    return std::size_t{static_cast<unsigned char>(text[at])};
  };
  const bool wide = text[6] >= 2;
  const std::size_t start = wide ? 12 : 10;
  std::size_t length = byte(8) | byte(9) << 8;
  if (wide) length |= byte(10) << 16 | byte(11) << 24;
  if (length > text.size() - start) throw Error(where + ": its NumPy header is cut off");
  const std::string_view header = text.substr(start, length);
  const auto descr = header_field(header, "descr", ',');
  const auto order = header_field(header, "fortran_order", ',');
  const auto shape_text = header_field(header, "shape", ')');
  const auto shape = shape_text ? parse_shape(*shape_text) : std::nullopt;
  if (!descr || !order || !shape) throw Error(where + ": its NumPy header is damaged");
  if (*order != "False") throw Error(where + ": expected C order, found Fortran order");
  const auto type = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeName& name) {
    return *descr == fmt::format("'{}'", name.descr);
  });
  if (type == std::end(kTypes)) {
    throw Error(fmt::format("{}: expected <f4, <f8, <i4 or <i8 values, found {}", where, *descr));
  }
  const std::size_t present = text.size() - start - length;
  std::size_t expected = type->size;
  for (const std::int64_t extent : *shape) {
    if (extent != 0 &&
        expected > std::numeric_limits<std::size_t>::max() / 2 / static_cast<std::size_t>(extent)) {
      throw Error(where + ": its shape is too large");
    }
    expected *= static_cast<std::size_t>(extent);
  }
  if (present != expected) {
    throw Error(fmt::format("{}: expected {} bytes for shape [{}], found {}", where, expected,
                            fmt::join(*shape, ", "), present));
  }
  Array array{type->type, *shape, {}};
  content.erase(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(start + length));
  array.bytes = std::move(content);
  return array;
}

std::vector<std::byte> read_entry(zip_t* archive, zip_uint64_t index, const std::string& where) {
  zip_stat_t stat;
  if (zip_stat_index(archive, index, 0, &stat) != 0 || (stat.valid & ZIP_STAT_SIZE) == 0) {
    throw Error(where + ": " + zip_strerror(archive));
  }
  const std::unique_ptr<zip_file_t, decltype(&zip_fclose)> file(zip_fopen_index(archive, index, 0),
                                                                &zip_fclose);
  if (!file) throw Error(where + ": " + zip_strerror(archive));
  // Read in steps, so that a false size in the directory cannot make us allocate it.
  constexpr std::size_t kStep = std::size_t{16} << 20;
  std::vector<std::byte> content;
  while (content.size() < stat.size) {
    const std::size_t done = content.size();
    const std::size_t step = std::min<std::size_t>(kStep, stat.size - done);
    content.resize(done + step);
    const zip_int64_t got = zip_fread(file.get(), content.data() + done, step);
    if (got <= 0) {
      throw Error(fmt::format("{}: expected {} bytes, found {}", where, stat.size, done));
    }
    content.resize(done + static_cast<std::size_t>(got));
  }
  // The checksum is verified when the end is read.
  std::byte extra;
  if (zip_fread(file.get(), &extra, 1) != 0) throw Error(where + ": damaged (checksum differs)");
  return content;
}

}  // namespace

std::size_t element_size(ArrayType type) { return names_of(type).size; }

ArrayRef array_ref(std::string name, std::vector<std::int64_t> shape,
                   std::span<const float> values) {
  return make_ref(std::move(name), std::move(shape), ArrayType::f32, values);
}
ArrayRef array_ref(std::string name, std::vector<std::int64_t> shape,
                   std::span<const double> values) {
  return make_ref(std::move(name), std::move(shape), ArrayType::f64, values);
}
ArrayRef array_ref(std::string name, std::vector<std::int64_t> shape,
                   std::span<const std::int32_t> values) {
  return make_ref(std::move(name), std::move(shape), ArrayType::i32, values);
}
ArrayRef array_ref(std::string name, std::vector<std::int64_t> shape,
                   std::span<const std::int64_t> values) {
  return make_ref(std::move(name), std::move(shape), ArrayType::i64, values);
}

void write_npz(const fs::path& path, const std::vector<ArrayRef>& arrays,
               const std::map<std::string, std::string>& texts) {
  write_atomically(path, [&](const fs::path& temporary) {
    Archive archive = open_archive(temporary, ZIP_CREATE | ZIP_TRUNCATE);
    std::vector<std::unique_ptr<EntrySource>> entries;  // libzip reads them when it closes
    for (const auto& [name, text] : texts) {
      entries.push_back(std::make_unique<EntrySource>(EntrySource{text, {}}));
      add_entry(archive.get(), name, *entries.back(), path);
    }
    for (const ArrayRef& array : arrays) {
      entries.push_back(std::make_unique<EntrySource>(EntrySource{npy_header(array), array.bytes}));
      add_entry(archive.get(), array.name + ".npy", *entries.back(), path);
    }
    if (zip_close(archive.get()) != 0) {
      throw Error(path.string() + ": cannot be written: " + zip_strerror(archive.get()));
    }
    (void)archive.release();  // zip_close freed it
  });
}

template <typename T>
std::vector<T> Array::values() const {
  constexpr bool floating = std::is_floating_point_v<T>;
  const ArrayType wanted = floating ? (sizeof(T) == 4 ? ArrayType::f32 : ArrayType::f64)
                                    : (sizeof(T) == 4 ? ArrayType::i32 : ArrayType::i64);
  if (type != wanted) throw std::logic_error("array of another type");
  std::vector<T> result(bytes.size() / sizeof(T));
  if (!result.empty()) std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}
template std::vector<float> Array::values() const;
template std::vector<double> Array::values() const;
template std::vector<std::int32_t> Array::values() const;
template std::vector<std::int64_t> Array::values() const;

NpzContents read_npz(const fs::path& path) {
  const Archive archive = open_archive(path, ZIP_RDONLY);
  NpzContents contents;
  const zip_int64_t entries = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < entries; ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    const char* name = zip_get_name(archive.get(), index, 0);
    if (name == nullptr) throw Error(path.string() + ": " + zip_strerror(archive.get()));
    const std::string entry = name;
    const std::string where = path.string() + ": " + entry;
    std::vector<std::byte> content = read_entry(archive.get(), index, where);
    if (entry.ends_with(".npy")) {
      contents.arrays[entry.substr(0, entry.size() - 4)] = parse_npy(std::move(content), where);
    } else {
      contents.texts[entry] =
          std::string(reinterpret_cast<const char*>(content.data()), content.size());
    }
  }
  return contents;
}

}  // namespace poslens
