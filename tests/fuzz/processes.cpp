#include "tests/fuzz/processes.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fuzz/generator.h"
#include "tests/fuzz/shared_memory.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/text.h"

namespace tw::fuzz {
namespace {

constexpr unsigned kSeconds = 60;  // for one case, and for making it smaller
constexpr int kTrials = 300;
constexpr size_t kMostProcesses = 256;

/// What the processes share. Zeros are its initial state.
struct Board {
  std::atomic<int64_t> next;
  std::atomic<int> failures;
  std::array<std::atomic<int64_t>, kMostProcesses> current;  // its case, -1: that is reported
  std::array<std::array<char, 1 << 16>, kMostFailures> reports;

  /// The place of a new report, after the last one all the same.
  int add(const std::string& report) {
    const int place = failures++;
    if (place < kMostFailures) set(place, report);
    return place;
  }
  void set(int place, const std::string& report) {
    auto& text = reports[static_cast<size_t>(place)];
    std::strncpy(text.data(), report.c_str(), text.size() - 1);
  }
};

struct Work {
  const Executor& executor;
  Functions functions;
  uint64_t first_seed;
  int64_t count;

  Case at(int64_t i) const { return generate(first_seed + static_cast<uint64_t>(i), functions); }
};

/// Runs in a child. Ends with 0 when nothing is left to do.
[[noreturn]] void run_child(const Work& work, Board& board, size_t process) {
  for (int64_t i = board.next++; i < work.count && board.failures < kMostFailures;
       i = board.next++) {
    board.current[process] = i;
    alarm(kSeconds);
    const Case one = work.at(i);
    const std::string text = disagreement(one.program, one, work.executor);
    if (text.empty()) continue;
    const int place = board.add(format("seed {}: {}\n{}", one.seed, text, ir::print(one.program)));
    board.current[process] = -1;
    alarm(kSeconds);
    if (place < kMostFailures && is_of_values(one.program, text)) {
      board.set(place, report(one, text, work.executor, kTrials));
    }
    _exit(1);
  }
  _exit(0);
}

}  // namespace

void expect_agreement_in_processes(const Executor& executor, Functions functions,
                                   uint64_t first_seed, int64_t count) {
  const Work work{executor, functions, first_seed, count};
  const SharedMemory memory(sizeof(Board));
  Board& board = *new (memory.data()) Board{};
  std::map<pid_t, size_t> children;
  const auto start = [&](size_t process) {
    const pid_t child = fork();
    TW_CHECK(child >= 0, "fork: {}", std::strerror(errno));
    if (child == 0) run_child(work, board, process);
    children[child] = process;
  };
  const size_t cores = std::max(std::thread::hardware_concurrency(), 1U);
  for (size_t i = 0; i < std::min(cores, kMostProcesses); ++i) start(i);
  while (!children.empty()) {
    int status = 0;
    const pid_t child = waitpid(-1, &status, 0);
    if (child < 0 && errno == EINTR) continue;
    TW_CHECK(child >= 0, "waitpid: {}", std::strerror(errno));
    const size_t process = children.at(child);
    children.erase(child);
    if (WIFSIGNALED(status) && board.current[process] >= 0) {
      const Case one = work.at(board.current[process]);
      board.add(format("seed {}: the process died of signal {} ({})\n{}", one.seed,
                       WTERMSIG(status), strsignal(WTERMSIG(status)), ir::print(one.program)));
    }
    const bool finished = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!finished && board.failures < kMostFailures) start(process);
  }
  for (int i = 0; i < std::min(board.failures.load(), kMostFailures); ++i) {
    ADD_FAILURE() << board.reports[static_cast<size_t>(i)].data();
  }
}

}  // namespace tw::fuzz
