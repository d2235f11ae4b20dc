#include "tilewright/backend/backend.h"

#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"

namespace tw::backend {

std::string Backend::disassembly(const Artifact& artifact) const {
  throw Error(codes::tool_01, {}, "{}: there is no disassembler for {}", artifact.metadata.name,
              artifact.metadata.target)
      .help("compile it with keep_texts and ask for \"asm\"");
}

}  // namespace tw::backend
