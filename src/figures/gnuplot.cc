#include "figures/gnuplot.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "poslens/error.h"

namespace poslens {
namespace fs = std::filesystem;
namespace {

// File actions of posix_spawn; they must be destroyed.
class SpawnActions {
 public:
  SpawnActions() { posix_spawn_file_actions_init(&actions_); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

std::string first_lines(const fs::path& log) {
  std::ifstream file(log);
  std::stringstream text;
  std::string line;
  for (int count = 0; count < 8 && std::getline(file, line);) {
    if (line.find_first_not_of(" \t\r^") == std::string::npos) continue;
    text << (count++ == 0 ? "" : "; ") << line;
  }
  return text.str();
}

}  // namespace

void run_gnuplot(const fs::path& script) {
  const fs::path folder = fs::absolute(script).parent_path();
  const fs::path log = folder / "gnuplot.log";
  std::string name = "./" + script.filename().string();  // never taken for an option
  std::string program = "gnuplot";
  std::string defaults = "-d";  // no initialisation files of the user
  std::array<char*, 4> arguments = {program.data(), defaults.data(), name.data(), nullptr};

  SpawnActions actions;
  posix_spawn_file_actions_addchdir_np(actions.get(), folder.c_str());
  posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(actions.get(), STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(actions.get(), STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int failure =
      posix_spawnp(&child, program.c_str(), actions.get(), nullptr, arguments.data(), environ);
  if (failure == ENOENT) {
    throw Error(
        "figures need gnuplot, which is not on PATH: install the Debian package "
        "gnuplot-nox");
  }
  if (failure != 0) throw Error(std::string("gnuplot cannot be started: ") + strerror(failure));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw Error(std::string("gnuplot was lost: ") + strerror(errno));
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw Error("gnuplot failed: " + first_lines(log));
  }
}

}  // namespace poslens
