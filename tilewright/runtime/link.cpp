#include "tilewright/runtime/link.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"
#include "tilewright/runtime/file.h"

extern char** environ;  // declared by <unistd.h> only for GNU's dialect

namespace tw::runtime {
namespace {

constexpr const char* kLinkers[] = {"ld", "ld.lld", "ld.lld-19", "mold", "ld.gold"};

// A folder for temporary files, removed with its content.
class Scratch {
 public:
  Scratch() : path_((std::filesystem::temp_directory_path() / "tw_link_XXXXXX").string()) {
    TW_REQUIRE(mkdtemp(path_.data()) != nullptr, "can't create a folder {}: {}", path_,
               system_reason());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Runs a program found in PATH, its messages going to a file. Returns its exit status; -1 when
// there is no such program.
int run(std::vector<std::string> words, const std::string& messages) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int fd : {1, 2}) {
    posix_spawn_file_actions_addopen(&actions, fd, messages.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                     0600);
  }
  pid_t child;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

}  // namespace

std::string link_shared_object(std::string_view object, std::span<const std::string> libraries) {
  const Scratch scratch;
  const std::string input = scratch.file("kernel.o"), output = scratch.file("kernel.so");
  const std::string messages = scratch.file("messages");
  TW_REQUIRE(write_file_at(AT_FDCWD, input, object), "can't write {}: {}", input, system_reason());
  std::vector<std::string> words = {"",   "-shared", "-z",  "noexecstack",
                                    "-o", output,    input, "--as-needed"};
  for (const std::string& library : libraries) words.push_back("-l" + library);
  std::vector<std::string> tried;
  for (const char* linker : kLinkers) {
    words[0] = linker;
    tried.push_back(linker);
    const int status = run(words, messages);
    if (status == -1) continue;
    TW_REQUIRE(status == 0, "export: {} can't link the kernel: {}", linker,
               read_file_at(AT_FDCWD, messages).value_or(""));
    const auto linked = read_file_at(AT_FDCWD, output);
    TW_REQUIRE(linked.has_value(), "can't read {}: {}", output, system_reason());
    return *linked;
  }
  throw Error(codes::tool_01, {}, "export: no linker found, looked for {}", join(tried, ", "))
      .help("install binutils");
}

}  // namespace tw::runtime
