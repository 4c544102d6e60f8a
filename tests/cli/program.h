#pragma once
// Runs the built program as a user does.

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace poslens {

struct Outcome {
  int code = 0;  // 128 + signal, when it was killed
  std::string out;
  std::string err;
  std::int64_t peak_memory_bytes = 0;
};

// `poslens ARGUMENTS…`; stderr is no terminal.
Outcome run_program(const std::vector<std::string>& arguments);

// Starts the program and kills it (SIGKILL) as soon as the file is there.
void kill_once_there_is(const std::filesystem::path& file,
                        const std::vector<std::string>& arguments);

// The words of a command line, split at blanks: arguments("probe model.gguf") + more.
std::vector<std::string> words(const std::string& line);

// Exit code 0, and nothing on stderr.
void expect_success(const Outcome& outcome);
// All arrays of two .npz files must have the same bytes; meta.json has times in it.
void expect_same_arrays(const std::filesystem::path& a, const std::filesystem::path& b);

// Exactly one line on stderr, nothing on stdout. `message` follows "poslens: error: ".
void expect_error(const Outcome& outcome, int code, const std::string& message);
// The same where only a part of the message matters.
void expect_error_with(const Outcome& outcome, int code, const std::string& part);

// A folder of its own for each test, and commands on files in it.
class ProgramTest : public testing::Test {
 protected:
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  std::filesystem::path write(const std::string& name, std::string_view content) const;
  // The names of all files in the folder, sorted.
  std::vector<std::string> files() const;

 private:
  TemporaryFolder folder_;
};

}  // namespace poslens
