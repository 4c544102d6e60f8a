#include "report/group_file.h"

#include <fmt/format.h>

#include <fstream>
#include <limits>
#include <utility>

#include "poslens/atomic_file.h"
#include "poslens/error.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;

std::streamsize bytes(std::size_t floats) {
  return static_cast<std::streamsize>(floats * sizeof(float));
}

}  // namespace

void GroupFile::write(const ScoreMap& map, const fs::path& path) {
  write_atomically(path, [&](const fs::path& temporary) {
    std::ofstream file(temporary, std::ios::binary);
    std::vector<float> packed;
    for (std::size_t place = 0; place < map.layers.size(); ++place) {
      for (const MatrixView<const float>& view : map.group_layers(place)) {
        packed.clear();
        for (std::size_t i = 0; i < view.rows(); ++i) {
          packed.insert(packed.end(), view.row(i).begin(),
                        view.row(i).begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
        file.write(reinterpret_cast<const char*>(packed.data()), bytes(packed.size()));
      }
    }
    file.close();
    if (!file) throw Error(path.string() + ": cannot be written");
  });
}

GroupFile::GroupFile(fs::path path, std::int64_t groups, const ScoreMap& map)
    : path_(std::move(path)),
      groups_(static_cast<std::size_t>(groups)),
      n_(static_cast<std::size_t>(map.n)) {
  const std::size_t expected = map.layers.size() * groups_ * triangle_size(n_) * sizeof(float);
  std::error_code error;
  const std::uintmax_t found = fs::file_size(path_, error);
  if (error) throw Error(path_.string() + ": " + error.message());
  if (found != expected) {
    throw Error(fmt::format("{}: expected {} bytes ({} layers, {} groups, {} positions), found {}",
                            path_.string(), expected, map.layers.size(), groups_, n_, found));
  }
}

std::vector<Matrix<float>> GroupFile::layer(std::size_t place) const {
  std::ifstream file(path_, std::ios::binary);
  file.seekg(bytes(place * groups_ * triangle_size(n_)));
  std::vector<Matrix<float>> maps(groups_, Matrix<float>(n_, n_));
  for (Matrix<float>& map : maps) {
    map.values().assign(n_ * n_, std::numeric_limits<float>::quiet_NaN());
    for (std::size_t i = 0; i < n_; ++i) {
      file.read(reinterpret_cast<char*>(map.row(i).data()), bytes(i + 1));
    }
  }
  if (!file) throw Error(path_.string() + ": cannot be read");
  return maps;
}

}  // namespace poslens
