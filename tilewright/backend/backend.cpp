#include "tilewright/backend/backend.h"

#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"

namespace tw::backend {

std::string Backend::disassembly(const Artifact& artifact) const {
  throw Error(codes::tool_01, {}, "{}: there is no disassembler for {}", artifact.metadata.name,
              artifact.metadata.target)
      .help("compile it with keep_texts and ask for \"asm\"");
}

std::unique_ptr<DeviceClock> Backend::clock(int, Stream) const {
  throw Error(codes::tgt_04, {}, "{}: there is no device to measure on", name());
}

std::string Backend::explain(const ir::Program&, const std::string&) const { return {}; }

Artifact Backend::replace_source(const Artifact& artifact, const std::string&,
                                 const ir::Program&) const {
  throw Error({}, {}, "{}: code for {} is not made from a source that could be replaced",
              artifact.metadata.name, artifact.metadata.target);
}

}  // namespace tw::backend
