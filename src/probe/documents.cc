#include "probe/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "poslens/error.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;

// A longer line is no line of a .jsonl file, and must not fill the memory.
constexpr std::size_t kLongestLine = std::size_t{256} << 20;

bool is_text_file(const fs::path& path) {
  return path.extension() == ".txt" || path.extension() == ".jsonl";
}

std::vector<fs::path> list_files(const fs::path& source) {
  if (!fs::exists(source)) throw Error(source.string() + ": no such file or folder");
  if (!fs::is_directory(source)) {
    if (!fs::is_regular_file(source) || !is_text_file(source)) {
      throw Error(source.string() + ": expected a .txt file, a .jsonl file or a folder of them");
    }
    return {source};
  }
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(source)) {
    if (entry.is_regular_file() && is_text_file(entry.path())) files.push_back(entry.path());
  }
  if (files.empty()) {
    throw Error(source.string() + ": expected .txt or .jsonl files in the folder, found none");
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::ifstream open(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw Error(path.string() + ": cannot be read: " + std::generic_category().message(errno));
  }
  return file;
}

// The next line without its end; false at the end of the file. std::getline would take any length.
bool read_line(std::ifstream& file, std::string& line, const std::string& where) {
  line.clear();
  std::streambuf& buffer = *file.rdbuf();
  using Traits = std::ifstream::traits_type;
  for (auto next = buffer.sbumpc(); next != Traits::eof(); next = buffer.sbumpc()) {
    if (next == '\n') return true;
    if (line.size() == kLongestLine) {
      throw Error(fmt::format("{}: expected a line of at most {} bytes", where, kLongestLine));
    }
    line += Traits::to_char_type(next);
  }
  return !line.empty();
}

std::string parse_line(const std::string& line, const std::string& where) {
  try {
    const auto json = nlohmann::json::parse(line);
    if (json.is_object() && json.contains("text") && json["text"].is_string()) {
      return json["text"].get<std::string>();
    }
  } catch (const nlohmann::json::parse_error& error) {
    throw Error(fmt::format("{}: expected a JSON object in UTF-8; it breaks off at byte {}", where,
                            error.byte));
  }
  throw Error(where + ": expected a JSON object with a string under the key 'text'");
}

}  // namespace

DocumentReader::DocumentReader(const fs::path& source) {
  try {
    files_ = list_files(source);
  } catch (const fs::filesystem_error& error) {
    throw Error(error.path1().string() + ": cannot be read: " + error.code().message());
  }
}

bool DocumentReader::next() {
  while (true) {
    if (lines_.is_open()) {
      if (next_line()) return true;
      lines_.close();
    }
    if (next_file_ == files_.size()) return false;
    ++next_file_;
    if (file().extension() != ".jsonl") return true;
    lines_ = open(file());
    line_number_ = 0;
  }
}

bool DocumentReader::next_line() {
  std::string line;
  do {
    ++line_number_;
    if (!read_line(lines_, line, where())) return false;
  } while (line.find_first_not_of(" \t\r") == std::string::npos);
  text_ = parse_line(line, where());
  return true;
}

std::string DocumentReader::where() const {
  return lines_.is_open() ? fmt::format("{}: line {}", file().string(), line_number_)
                          : file().string();
}

std::string DocumentReader::prefix(std::size_t limit) const {
  if (lines_.is_open()) return text_.substr(0, limit);
  std::ifstream input = open(file());
  std::string text(std::min<std::size_t>(limit, fs::file_size(file())), '\0');
  input.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (input.bad()) throw Error(file().string() + ": cannot be read");
  text.resize(static_cast<std::size_t>(input.gcount()));
  return text;
}

}  // namespace poslens
