#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <system_error>

#include "poslens/error.h"
#include "poslens/tokenizer.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;

// Beyond any real one (Gemma 3's tokenizer.json has 33 MB); bounds what parsing may allocate.
constexpr std::uintmax_t kLargest = std::uintmax_t{128} << 20;

std::string read_file(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) throw Error(fmt::format("{}: cannot be read", path.string()));
  if (size > kLargest) {
    throw Error(
        fmt::format("{}: expected at most {} bytes, found {}", path.string(), kLargest, size));
  }
  std::string text(static_cast<std::size_t>(size), '\0');
  file.read(text.data(), static_cast<std::streamsize>(size));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

std::unique_ptr<Tokenizer> Tokenizer::open(const Checkpoint& checkpoint) {
  if (checkpoint.config() == nullptr) return from_gguf(checkpoint);
  const fs::path path = checkpoint.folder() / "tokenizer.json";
  const fs::path config = checkpoint.folder() / "tokenizer_config.json";
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw Error(
        fmt::format("{}: expected tokenizer.json, found none; text cannot be used, token ids can",
                    checkpoint.folder().string()));
  }
  return from_json(read_file(path), fs::exists(config, ignored) ? read_file(config) : std::string(),
                   path.string());
}

}  // namespace poslens
