// A compiled kernel as one file that needs no compiler to run.
//
// The file begins with the code as its loader wants it (CPU: a shared object; CUDA: a cubin), so
// that other tools can read it. Behind it stand the metadata as JSON and a footer with sizes, a
// checksum of everything and the format version.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tilewright/runtime/call.h"
#include "tilewright/runtime/metadata.h"

namespace tw::runtime {

struct Artifact {
  KernelMetadata metadata;
  std::string code;
  /// What a backend compiles only when a call needs it, in a form of its own; empty: the code has
  /// all entries. Caches keep it, files of write_artifact have none.
  std::string deferred = {};
};

/// Writes the file in one step: an existing one is replaced only by a whole one. An Error when it
/// can't be written.
void write_artifact(const std::string& path, const KernelMetadata& metadata, std::string_view code);

/// Reads and checks a file. One that is no artefact, is damaged, or has another version is an Error
/// that says so.
Artifact read_artifact(const std::string& path);

/// Loads a kernel for the CPU. One for another device is an Error: its backend loads it.
std::unique_ptr<LoadedKernel> load_cpu_artifact(const std::string& path);

}  // namespace tw::runtime
