#include "tilewright/runtime/link.h"

#include <vector>

#include <fcntl.h>

#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"
#include "tilewright/runtime/file.h"
#include "tilewright/runtime/tool.h"

namespace tw::runtime {
namespace {

constexpr const char* kLinkers[] = {"ld", "ld.lld", "ld.lld-19", "mold", "ld.gold"};

}  // namespace

std::string link_shared_object(std::string_view object, std::span<const std::string> libraries) {
  const ScratchFolder scratch;
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
    const int status = run_tool(words, messages);
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
