#include "tilewright/runtime/tool.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "tilewright/base/error.h"
#include "tilewright/runtime/file.h"

extern char** environ;  // declared by <unistd.h> only for GNU's dialect

namespace tw::runtime {

ScratchFolder::ScratchFolder()
    : path_((std::filesystem::temp_directory_path() / "tilewright_XXXXXX").string()) {
  TW_REQUIRE(mkdtemp(path_.data()) != nullptr, "can't create a folder {}: {}", path_,
             system_reason());
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

int run_tool(std::vector<std::string> words, const std::string& output_file) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int fd : {1, 2}) {
    posix_spawn_file_actions_addopen(&actions, fd, output_file.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
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

}  // namespace tw::runtime
