#include "poslens/progress.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>

namespace poslens {
namespace {

TEST(ProgressLine, NamesShareRateAndTimeLeft) {
  EXPECT_EQ(progress_line("running the model", 2048, 8192, "tokens", 4),
            "running the model  25 %  512 tokens/s  12 s left");
  EXPECT_EQ(progress_line("simulate", 3e6, 6e6, "samples", 1000),
            "simulate  50 %  3.0 k samples/s  17 min left");
  EXPECT_EQ(progress_line("simulate", 1e9, 1e10, "samples", 800),
            "simulate  10 %  1.2 M samples/s  2 h 0 min left");
  // More than was thought of, and none at all.
  EXPECT_EQ(progress_line("work", 12, 10, "pieces", 3), "work  100 %  4 pieces/s  0 s left");
  EXPECT_EQ(progress_line("work", 0, 0, "pieces", 3), "work  0 %  0 pieces/s  0 s left");
}

// stderr as a terminal, and what is written to it.
class Terminal {
 public:
  Terminal() : master_(posix_openpt(O_RDWR | O_NOCTTY)), saved_(dup(STDERR_FILENO)) {
    if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0) {
      throw std::runtime_error("there is no terminal to test with");
    }
    const int end = open(ptsname(master_), O_RDWR | O_NOCTTY);
    if (end < 0 || dup2(end, STDERR_FILENO) < 0) throw std::runtime_error("no terminal's end");
    close(end);
    fcntl(master_, F_SETFL, O_NONBLOCK);
  }
  ~Terminal() {
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    close(master_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  std::string read_all() const {
    std::string text(4096, ' ');
    const ssize_t size = read(master_, text.data(), text.size());
    text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return text;
  }

 private:
  int master_;
  int saved_;
};

TEST(Progress, IsShownOnATerminalAfterTwoSecondsAndCleared) {
  const Terminal terminal;
  {
    Progress progress("running the model", 100, "tokens");
    progress.advance(40);
    EXPECT_EQ(terminal.read_all(), "");
    std::this_thread::sleep_for(std::chrono::milliseconds(2050));
    progress.advance(10);
    EXPECT_THAT(
        terminal.read_all(),
        testing::MatchesRegex("\r\x1b\\[Krunning the model  50 %  [0-9]+ tokens/s  [0-9]+ s "
                              "left"));
  }
  EXPECT_EQ(terminal.read_all(), "\r\x1b[K");
}

}  // namespace
}  // namespace poslens
