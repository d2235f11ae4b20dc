// Entries that a call may not need: kept as source, each compiled when it is first launched.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tilewright/backend/cuda/target.h"
#include "tilewright/runtime/artifact.h"

namespace tw::cuda {

/// What Artifact::deferred holds.
struct Deferred {
  std::vector<std::string> entries;  // of parts 1, 2, ... of the source
  std::vector<std::string> flags;    // of the program
  std::string source;                // of all entries; kPart of emit.h chooses
  bool contains(std::string_view entry) const;
};
std::string to_text(const Deferred& deferred);
Deferred deferred_from_text(std::string_view text);

/// The code of a deferred entry of the kernel `name`: from the disk cache, else from NVRTC. Of an
/// entry that stands in for another one, an Error says why it is needed.
std::string compile_deferred(const Deferred& deferred, const std::string& entry,
                             const std::string& name, const Target& target, bool stands_in);

/// The artefact's code with all entries, compiled anew where some are deferred.
std::string whole_code(const runtime::Artifact& artifact);

}  // namespace tw::cuda
