// Machine code as text, through the toolkit's programs; they are no part of a kernel's compilation.
#include <fcntl.h>

#include "tilewright/backend/cuda/toolchain/toolchain.h"
#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"
#include "tilewright/runtime/file.h"
#include "tilewright/runtime/tool.h"

namespace tw::cuda {

std::string disassemble(const std::string& cubin) {
  const runtime::ScratchFolder scratch;
  const std::string input = scratch.file("kernel.cubin"), output = scratch.file("sass");
  TW_REQUIRE(runtime::write_file_at(AT_FDCWD, input, cubin), "can't write {}: {}", input,
             runtime::system_reason());
  const std::vector<std::string> attempts[] = {
      {"nvdisasm", input},
      {"/usr/local/cuda/bin/nvdisasm", input},
      {"cuobjdump", "--dump-sass", input},
      {"/usr/local/cuda/bin/cuobjdump", "--dump-sass", input},
  };
  for (const std::vector<std::string>& words : attempts) {
    const int status = runtime::run_tool(words, output);
    if (status == -1) continue;
    std::string text = runtime::read_file_at(AT_FDCWD, output).value_or("");
    TW_REQUIRE(status == 0, "sass: {} fails: {}", words[0], text);
    return text;
  }
  throw Error(codes::tool_01, {},
              "sass: neither nvdisasm nor cuobjdump is in PATH or /usr/local/cuda/bin")
      .help("install the toolkit's binary utilities");
}

}  // namespace tw::cuda
