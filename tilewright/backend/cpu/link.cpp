// Links an object into a shared library with whatever linker the machine has.
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>

#include "tilewright/backend/cpu/atoms/math.h"
#include "tilewright/backend/cpu/toolchain.h"
#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"

extern char** environ;

namespace tw::cpu {
namespace {

// The first that is found on the PATH links; all take these arguments.
constexpr std::array kLinkers = {"ld", "ld.lld", "mold", "ld.lld-19", "cc", "gcc", "clang"};

/// The file of the library that a function comes from.
std::string library_of(const std::string& function) {
  Dl_info info{};
  void* address = external_function(function);
  return address != nullptr && dladdr(address, &info) != 0 ? info.dli_fname : "";
}

/// Runs a program; its exit status, or -1 when it isn't there.
int run(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], nullptr, nullptr, argv.data(), environ);
  if (error != 0) return -1;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

}  // namespace

void link_shared(const std::string& object, const std::string& path) {
  const std::string input = path + ".o";
  std::ofstream(input, std::ios::binary) << object;
  std::vector<std::string> command = {"", "-shared", "-o", path, input};
  for (const char* function : {"Sleef_finz_expf1_u10purecfma", "fmaf", "memcpy"}) {
    if (std::string library = library_of(function); !library.empty()) command.push_back(library);
  }
  int status = -1;
  for (const char* linker : kLinkers) {
    command[0] = linker;
    status = run(command);
    if (status == 127) status = -1;
    if (status >= 0) break;
  }
  std::error_code ignored;
  std::filesystem::remove(input, ignored);
  if (status < 0) {
    Error error(codes::tool_01, {}, "export_object: no linker was found");
    throw std::move(error.help("install one of ld, lld, mold or a C compiler"));
  }
  TW_REQUIRE(status == 0, "export_object: {} can't write {} (exit status {})", command[0], path,
             status);
}

}  // namespace tw::cpu
