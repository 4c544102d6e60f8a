#include "cli/program.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "poslens/npz.h"

namespace poslens {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Starts the program; actions may be null.
pid_t start(const std::vector<std::string>& arguments, const posix_spawn_file_actions_t* actions) {
  std::vector<std::string> words = {POSLENS_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawn(&child, argv[0], actions, nullptr, argv.data(), environ) != 0) {
    throw std::runtime_error(words[0] + " cannot be started");
  }
  return child;
}

}  // namespace

Outcome run_program(const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out", err = folder.path() / "err";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_CREAT | O_WRONLY, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_CREAT | O_WRONLY, 0600);
  const pid_t child = start(arguments, &actions);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child) throw std::runtime_error("wait4 failed");
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, content(out), content(err), std::int64_t{usage.ru_maxrss} * 1024};
}

void kill_once_there_is(const fs::path& file, const std::vector<std::string>& arguments) {
  const pid_t child = start(arguments, nullptr);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!fs::exists(file) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the run ended before it could be killed";
}

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> result;
  for (std::string word; stream >> word;) result.push_back(word);
  return result;
}

void expect_success(const Outcome& outcome) {
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
}

void expect_same_arrays(const fs::path& a, const fs::path& b) {
  const NpzContents of_a = read_npz(a), of_b = read_npz(b);
  EXPECT_EQ(of_a.arrays.size(), of_b.arrays.size());
  for (const auto& [name, array] : of_a.arrays) {
    ASSERT_TRUE(of_b.arrays.contains(name)) << name;
    EXPECT_EQ(array.shape, of_b.arrays.at(name).shape) << name;
    EXPECT_TRUE(array.bytes == of_b.arrays.at(name).bytes) << name;
  }
}

void expect_error(const Outcome& outcome, int code, const std::string& message) {
  EXPECT_EQ(outcome.err, "poslens: error: " + message + "\n");
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.code, code);
}

void expect_error_with(const Outcome& outcome, int code, const std::string& part) {
  EXPECT_TRUE(outcome.err.starts_with("poslens: error: ")) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_TRUE(outcome.err.ends_with('\n'));
  EXPECT_THAT(outcome.err, testing::HasSubstr(part));
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.code, code);
}

fs::path ProgramTest::write(const std::string& name, std::string_view content) const {
  std::ofstream(path(name), std::ios::binary) << content;
  return path(name);
}

std::vector<std::string> ProgramTest::files() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
    if (entry.is_regular_file()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace poslens
