#include "tests/fuzz/isolated.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fuzz/shared_memory.h"
#include "tilewright/base/error.h"

namespace tw::fuzz {
namespace {

constexpr size_t kMessageBytes = 1 << 16;  // a message is first, then the memory of each parameter

/// Ends this process when it has computed for that long, or slept for much longer.
void limit_time(unsigned seconds) {
  const rlimit limit{seconds, seconds};
  setrlimit(RLIMIT_CPU, &limit);
  alarm(20 * seconds);
}

/// Runs in the child: the results, or the message of what was thrown, go to shared memory.
[[noreturn]] void run_child(const Executor& executor, const ir::Program& program, Case& one,
                            const SharedMemory& shared, unsigned seconds) {
  limit_time(seconds);
  try {
    executor(program, one);
    char* to = shared.data() + kMessageBytes;
    for (const ParamValue& value : one.values) {
      if (value.memory.empty()) continue;
      std::memcpy(to, value.memory.data(), value.memory.size());
      to += value.memory.size();
    }
  } catch (const std::exception& error) {
    std::strncpy(shared.data(), error.what(), kMessageBytes - 1);
  }
  _exit(0);
}

}  // namespace

Executor isolated(Executor executor, unsigned seconds) {
  return [executor = std::move(executor), seconds](const ir::Program& program, Case& one) {
    size_t bytes = kMessageBytes;
    for (const ParamValue& value : one.values) bytes += value.memory.size();
    const SharedMemory shared(bytes);
    const pid_t child = fork();
    TW_CHECK(child >= 0, "fork: {}", std::strerror(errno));
    if (child == 0) run_child(executor, program, one, shared, seconds);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) {
      throw std::runtime_error(format("the process died of signal {} ({})", WTERMSIG(status),
                                      strsignal(WTERMSIG(status))));
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      throw std::runtime_error(format("the process ended with status {}", WEXITSTATUS(status)));
    }
    if (*shared.data() != 0) throw std::runtime_error(shared.data());
    const char* from = shared.data() + kMessageBytes;
    for (ParamValue& value : one.values) {
      if (value.memory.empty()) continue;
      std::memcpy(value.memory.data(), from, value.memory.size());
      from += value.memory.size();
    }
  };
}

}  // namespace tw::fuzz
