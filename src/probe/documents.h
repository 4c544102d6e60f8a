#pragma once
// The documents of a text source, one after the other, read no further than asked.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace poslens {

class DocumentReader {
 public:
  // A .txt file (one document), a .jsonl file (one a line, under the key `text`), or a folder of
  // them, taken recursively and sorted by path. Throws Error when there is none.
  explicit DocumentReader(const std::filesystem::path& source);

  // Goes to the next document, the first at first; false behind the last. Blank lines of .jsonl
  // files are no documents. Throws Error naming file and line.
  bool next();

  // The current document, for messages: "file" or "file: line 3".
  std::string where() const;

  // The first `limit` bytes of the current document; all of it when the result is shorter.
  std::string prefix(std::size_t limit) const;

 private:
  bool next_line();
  const std::filesystem::path& file() const { return files_[next_file_ - 1]; }

  std::vector<std::filesystem::path> files_;
  std::size_t next_file_ = 0;
  std::ifstream lines_;  // open inside a .jsonl file
  std::int64_t line_number_ = 0;
  std::string text_;  // of the current line
};

}  // namespace poslens
