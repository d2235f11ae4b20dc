// Entries that most calls don't need: kept as source, and compiled when one of them is launched.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tilewright/backend/cuda/target.h"
#include "tilewright/runtime/artifact.h"

namespace tw::cuda {

/// What Artifact::deferred holds.
struct Deferred {
  std::vector<std::string> entries;
  std::vector<std::string> flags;  // of the program
  std::string source;              // of all entries; emit.h names the macros that choose
};
std::string to_text(const Deferred& deferred);
Deferred deferred_from_text(std::string_view text);

/// The code of the deferred entries of the kernel `name`: from the disk cache, else from NVRTC,
/// which if it is missing is an Error that says why it is needed.
std::string compile_deferred(const Deferred& deferred, const std::string& name,
                             const Target& target);

/// The artefact's code with all entries, compiled anew where some are deferred.
std::string whole_code(const runtime::Artifact& artifact);

}  // namespace tw::cuda
