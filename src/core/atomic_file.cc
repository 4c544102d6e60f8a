#include "poslens/atomic_file.h"

#include <unistd.h>

#include <fstream>
#include <string>
#include <system_error>

#include "poslens/error.h"

namespace poslens {
namespace fs = std::filesystem;

void check_output(const fs::path& path, bool force) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!fs::is_directory(folder)) {
    throw Error(path.string() + ": its folder " + folder.string() + " does not exist");
  }
  if (fs::is_directory(path)) throw Error(path.string() + ": expected a file, found a folder");
  if (fs::exists(path) && !force) {
    throw Error(path.string() + ": exists already; --force replaces it");
  }
}

void check_output_folder(const fs::path& folder, bool force) {
  const fs::path parent = fs::absolute(folder / "").parent_path().parent_path();
  if (!fs::is_directory(parent)) {
    throw Error(folder.string() + ": its folder " + parent.string() + " does not exist");
  }
  if (!fs::exists(folder)) return;
  if (!fs::is_directory(folder)) throw Error(folder.string() + ": expected a folder");
  if (!fs::is_empty(folder) && !force) {
    throw Error(folder.string() + ": is not empty; --force writes into it");
  }
}

void write_atomically(const fs::path& path, const std::function<void(const fs::path&)>& write) {
  fs::path temporary = path;
  temporary += ".tmp" + std::to_string(getpid());
  std::error_code ignored;
  try {
    write(temporary);
    fs::rename(temporary, path);
  } catch (const fs::filesystem_error& error) {
    fs::remove(temporary, ignored);
    throw Error(path.string() + ": cannot be written: " + error.code().message());
  } catch (...) {
    fs::remove(temporary, ignored);
    throw;
  }
}

void write_text_atomically(const fs::path& path, std::string_view text) {
  write_atomically(path, [&](const fs::path& temporary) {
    std::ofstream file(temporary, std::ios::binary);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.close();
    if (!file) throw Error(path.string() + ": cannot be written");
  });
}

}  // namespace poslens
