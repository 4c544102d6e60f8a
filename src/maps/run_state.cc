#include "poslens/run_state.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "maps/meta.h"
#include "poslens/atomic_file.h"
#include "poslens/error.h"
#include "poslens/hash.h"
#include "poslens/run_parts.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "poslens-state/1";
constexpr std::size_t kLongestHeader = std::size_t{1} << 20;
constexpr std::size_t kHashDigits = 16;

std::span<std::byte> bytes_of(const StateArray& array) {
  return std::visit([](auto values) { return std::as_writable_bytes(values); }, array.values);
}

// Names, types and sizes; with the provenance, all that must agree.
Json layout(const RunState& state) {
  Json list = Json::array();
  for (const StateArray& array : state.arrays) {
    const bool single = std::holds_alternative<std::span<float>>(array.values);
    list.push_back({array.name, single ? "f32" : "f64", bytes_of(array).size()});
  }
  return list;
}

std::string shard_text(const ScoreMap& map) { return shard_of(map).value_or("none"); }

class StateReader {
 public:
  explicit StateReader(const fs::path& path) : file_(path, std::ios::binary) {}

  Json header() {
    std::string line;
    for (char c = 0; line.size() < kLongestHeader && file_.get(c) && c != '\n';) line += c;
    hash_.add(std::as_bytes(std::span(line)));
    Json json = Json::parse(line, nullptr, false);
    if (json.is_discarded() || !json.is_object() || json.value("schema", "") != kSchema) {
      throw Error(fmt::format("expected the state of an interrupted run ({})", kSchema));
    }
    return json;
  }

  void fill(std::span<std::byte> bytes) {
    file_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (static_cast<std::size_t>(file_.gcount()) != bytes.size()) throw Error("is cut off");
    hash_.add(bytes);
  }

  // What remains must be the hash of all before it.
  void finish() {
    std::string digits(kHashDigits + 1, ' ');
    file_.read(digits.data(), static_cast<std::streamsize>(digits.size()));
    digits.resize(static_cast<std::size_t>(file_.gcount()));
    if (digits != hash_.hex()) throw Error("is damaged (its checksum differs)");
  }

 private:
  std::ifstream file_;
  Hash hash_;
};

}  // namespace

void save_state(const Provenance& provenance, const RunState& state, const fs::path& path) {
  ScoreMap map;
  map.source = Source::model;
  map.provenance = provenance;
  const Json header = {{"schema", kSchema},
                       {"run", Json::parse(meta_json(map))},
                       {"done", state.done},
                       {"arrays", layout(state)}};
  const std::string line = header.dump();
  write_atomically(path, [&](const fs::path& temporary) {
    std::ofstream file(temporary, std::ios::binary);
    Hash hash;
    const auto write = [&](std::span<const std::byte> bytes) {
      file.write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    };
    hash.add(std::as_bytes(std::span(line)));
    file << line << '\n';
    for (const StateArray& array : state.arrays) {
      hash.add(bytes_of(array));
      write(bytes_of(array));
    }
    file << hash.hex();
    file.close();
    if (!file) throw Error(path.string() + ": cannot be written");
  });
}

double load_state(const Provenance& expected, RunState& state, const fs::path& path) {
  try {
    StateReader reader(path);
    ScoreMap found, wanted;
    wanted.provenance = expected;
    const Json header = reader.header();
    try {
      read_meta(header.at("run").dump(), found);
      check_same_run(found.provenance, expected);
      if (shard_text(found) != shard_text(wanted)) {
        throw Error(
            fmt::format("expected --shard {}, found {}", shard_text(wanted), shard_text(found)));
      }
      if (header.at("arrays") != layout(state)) {
        throw Error(fmt::format("expected arrays {}, found {}", layout(state).dump(),
                                header.at("arrays").dump()));
      }
      state.done = header.at("done").get<std::int64_t>();
    } catch (const Json::exception& error) {
      throw Error(std::string("expected the state of an interrupted run: ") + error.what());
    }
    for (const StateArray& array : state.arrays) reader.fill(bytes_of(array));
    reader.finish();
    return found.provenance.seconds;
  } catch (const Error& error) {
    throw Error(path.string() + ": " + error.what());
  }
}

}  // namespace poslens
